package telemetry

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// counts is a counter of our own doings. Its values are closed sets, and its
// series stand at 0 from the start. It may be used concurrently.
type counts struct {
	name   string
	labels []string

	mu sync.Mutex
	n  map[string]int64 // by the labels' values, joined by spaces
}

func newCounts(name string, labels []string, values ...string) *counts {
	c := &counts{name: name, labels: labels, n: map[string]int64{}}
	for _, v := range values {
		c.n[v] = 0
	}
	return c
}

func (c *counts) add(n int64, value string) {
	if n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[value] += n
}

func (c *counts) family() Family {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := Family{Name: c.name}
	for _, v := range slices.Sorted(maps.Keys(c.n)) {
		var labels []Label
		for i, part := range strings.Fields(v) {
			labels = append(labels, Label{c.labels[i], part})
		}
		f.Series = append(f.Series, Sample{Labels: labels, Value: float64(c.n[v])})
	}
	return f
}

// own counts what telemetry does.
type own struct {
	kept, exports, exported, dropped, overflow *counts
}

// The signals, and why one of their records may be given up.
const (
	traces  = "traces"
	metrics = "metrics"
	logs    = "logs"  // records for a collector
	lines   = "lines" // of our own log

	queueFull    = "queue_full"
	rateLimited  = "rate_limited"
	contentFull  = "content_memory" // the span goes without what was said
	exportFailed = "export_failed"
	broken       = "panic"
)

func newOwn() *own {
	return &own{
		kept:     newCounts("turnwatch_traces_kept_total", []string{KeyReason}, keptReasons()...),
		exports:  newCounts("turnwatch_telemetry_exports_total", []string{KeySignal, KeyOutcome}, pairs([]string{traces, metrics, logs}, "ok", "failed")...),
		exported: newCounts("turnwatch_telemetry_exported_total", []string{KeySignal}, traces, logs),
		dropped: newCounts("turnwatch_telemetry_dropped_total", []string{KeySignal, KeyReason}, append(
			pairs([]string{traces, logs}, queueFull, exportFailed), traces+" "+rateLimited, traces+" "+contentFull, lines+" "+rateLimited, lines+" "+broken)...),
		overflow: newCounts("turnwatch_label_overflow_total", []string{KeyLabel}, "model", "fingerprint", "group", "status"),
	}
}

// pairs joins each of some values with each of others.
func pairs(some []string, others ...string) (all []string) {
	for _, a := range some {
		for _, b := range others {
			all = append(all, a+" "+b)
		}
	}
	return all
}

// depths tells what waits for exporters.
func depths(rooms map[string]*room) Family {
	f := Family{Name: "turnwatch_queue_depth"}
	for _, signal := range slices.Sorted(maps.Keys(rooms)) {
		if r := rooms[signal]; r != nil {
			f.Series = append(f.Series, Sample{Labels: []Label{{KeyQueue, signal}}, Value: float64(r.pending.Load())})
		}
	}
	return f
}

func (o *own) families() []Family {
	return []Family{o.kept.family(), o.exports.family(), o.exported.family(), o.dropped.family(), o.overflow.family()}
}
