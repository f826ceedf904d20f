package proxy

import (
	"maps"
	"slices"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// Metric is a family of series as whoever counts tells them. What it means, and
// whether it may fall, stands where all names do: package telemetry.
type Metric struct {
	Name   string // as Prometheus spells it; a counter's ends in _total
	Series []Sample
}

// Sample is the value of one series: a number, or the times of a Spread.
type Sample struct {
	Labels []Label
	Value  float64
	Times  *Times // nil: a number
}

// Label is a name and a value that tell a series from its sisters.
type Label struct{ Name, Value string }

// Counter is a metric of one series that only rises.
func Counter(name string, v int64) Metric { return Gauge(name, float64(v)) }

// Gauge is a metric of one series that rises and falls.
func Gauge(name string, v float64) Metric {
	return Metric{Name: name, Series: []Sample{{Value: v}}}
}

// ByLabel is a metric with a series for each count, in the order of its label's
// values.
func ByLabel[K ~string](name, label string, counts map[K]int64) Metric {
	m := Metric{Name: name}
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		m.Series = append(m.Series, Sample{Labels: []Label{{label, string(v)}}, Value: float64(counts[v])})
	}
	return m
}

// Metrics returns what was counted. Every series of a closed set is there from
// the start: one that appears with its first increment hides that increment
// from rate and increase.
func (s *Stats) Metrics() []Metric {
	var drops, at []string
	for _, d := range turn.Drops() {
		drops = append(drops, string(d))
	}
	for _, st := range stages() {
		at = append(at, string(st))
	}
	skips := []string{string(validate.SchemaTooComplex), string(validate.SchemaUnusable), string(validate.SchemaPartly)}
	return append(s.timings(),
		ByLabel("turnwatch_dropped_total", "reason", s.dropped.counts(drops...)),
		ByLabel("turnwatch_identity_checks_total", "result",
			map[string]int64{"same": s.proofs.same.Load(), "different": s.proofs.different.Load()}),
		ByLabel("turnwatch_upstream_errors_total", "stage", s.upstream.counts(at...)),
		ByLabel("turnwatch_schema_skips_total", "reason", s.skipped.counts(skips...)),
		Counter("turnwatch_requests_total", s.Requests.Load()),
		Counter("turnwatch_requests_judged_total", s.Judged.Load()),
		Counter("turnwatch_requests_refused_total", s.RefusedRequests.Load()),
		Counter("turnwatch_request_bytes_total", s.BytesIn.Load()),
		Counter("turnwatch_response_bytes_total", s.BytesOut.Load()),
		Counter("turnwatch_clients_gone_total", s.ClientsGone.Load()),
		Counter("turnwatch_accept_errors_total", s.AcceptErrors.Load()),
		Counter("turnwatch_upstream_dials_total", s.UpstreamDialed.Load()),
		Counter("turnwatch_upstream_reuses_total", s.UpstreamReused.Load()),
		Metric{Name: "turnwatch_loop_busy_seconds_total", Series: []Sample{{Value: time.Duration(s.LoopBusy.Load()).Seconds()}}},
		Counter("turnwatch_loop_late_total", s.LoopLate.Load()),
		Gauge("turnwatch_client_connections", float64(s.Clients.Load())),
		Gauge("turnwatch_open_streams", float64(s.Streams.Load())),
		Gauge("turnwatch_judge_memory_bytes", float64(s.JudgeMemory.Load())),
	)
}

// QueueMetrics returns how many turns wait to be judged and to be recorded.
func (s *Server) QueueMetrics() Metric {
	return ByLabel("turnwatch_queue_depth", "queue", map[string]int64{"finish": int64(len(s.finish.queue)), "record": int64(len(s.finish.unjudged))})
}

// Metrics returns what became of the files' changes.
func (c *Certs) Metrics() []Metric {
	good, bad := c.Reloads()
	m := []Metric{ByLabel("turnwatch_tls_reloads_total", "result", map[string]int64{"taken": good, "kept_old": bad})}
	if end := c.Expiry(); !end.IsZero() {
		m = append(m, Gauge("turnwatch_tls_expiry_timestamp_seconds", float64(end.Unix())))
	}
	return m
}
