package proxy

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// Metric is a family of series as /metrics shows it.
type Metric struct {
	Name   string // a counter's ends in _total
	Help   string
	Gauge  bool // else a counter
	Series []Sample
}

// Sample is the value of one series.
type Sample struct {
	Labels []Label
	Value  float64
}

// Label is a name and a value that tell a series from its sisters.
type Label struct{ Name, Value string }

// Counter is a metric of one series that only rises.
func Counter(name, help string, v int64) Metric {
	return Metric{Name: name, Help: help, Series: []Sample{{Value: float64(v)}}}
}

// Gauge is a metric of one series that rises and falls.
func Gauge(name, help string, v float64) Metric {
	return Metric{Name: name, Help: help, Gauge: true, Series: []Sample{{Value: v}}}
}

// byLabel is a counter with a series for each count.
func byLabel(name, help, label string, counts map[string]int64) Metric {
	m := Metric{Name: name, Help: help}
	for _, v := range sortedKeys(counts) {
		m.Series = append(m.Series, Sample{[]Label{{label, v}}, float64(counts[v])})
	}
	return m
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Metrics returns what was counted. Every series of a closed set is there from
// the start: one that appears with its first increment hides that increment
// from rate and increase.
func (s *Stats) Metrics() []Metric {
	outcomes := []string{string(validate.Clean), string(validate.Corrupted), string(validate.Truncated), string(validate.Unverified)}
	var kinds, drops, at []string
	for _, k := range validate.Kinds() {
		kinds = append(kinds, string(k.Kind))
	}
	for _, d := range turn.Drops() {
		drops = append(drops, string(d))
	}
	for _, st := range stages() {
		at = append(at, string(st))
	}
	return []Metric{
		byLabel("turnwatch_turns_total", "Turns that were judged, by verdict.", "turnwatch_verdict", s.turns.counts(outcomes...)),
		s.cells.metric(),
		byLabel("turnwatch_findings_total", "Findings in turns, by kind.", "turnwatch_finding_kind", s.findings.counts(kinds...)),
		byLabel("turnwatch_dropped_total", "What was given up so that the bytes could pass, by reason.", "reason", s.dropped.counts(drops...)),
		byLabel("turnwatch_upstream_errors_total", "Exchanges that the server spoiled, by stage.", "stage", s.upstream.counts(at...)),
		byLabel("turnwatch_schema_skips_total", "Calls that were not held against their schema, or not against all of it, by reason.", "reason",
			s.skipped.counts(string(validate.SchemaTooComplex), string(validate.SchemaUnusable), string(validate.SchemaPartly))),
		Counter("turnwatch_requests_total", "Requests of clients, judged or not.", s.Requests.Load()),
		Counter("turnwatch_requests_judged_total", "Requests that were taken for turns.", s.Judged.Load()),
		Counter("turnwatch_requests_refused_total", "Requests answered by us because their framing is not safe to forward.", s.RefusedRequests.Load()),
		Counter("turnwatch_request_bytes_total", "Bytes of request bodies relayed to the server.", s.BytesIn.Load()),
		Counter("turnwatch_response_bytes_total", "Bytes of answers relayed to clients.", s.BytesOut.Load()),
		Counter("turnwatch_clients_gone_total", "Clients that left before the end of their answer.", s.ClientsGone.Load()),
		Counter("turnwatch_accept_errors_total", "Connections of clients that could not be accepted.", s.AcceptErrors.Load()),
		Counter("turnwatch_upstream_dials_total", "Connections opened to the server.", s.UpstreamDialed.Load()),
		Counter("turnwatch_upstream_reuses_total", "Exchanges on a connection to the server that had served before.", s.UpstreamReused.Load()),
		Metric{Name: "turnwatch_loop_busy_seconds_total", Help: "Time that loops took to pass on what had come.",
			Series: []Sample{{Value: time.Duration(s.LoopBusy.Load()).Seconds()}}},
		Counter("turnwatch_loop_late_total", "Times that a loop took longer than 10 ms to pass on what had come.", s.LoopLate.Load()),
		Gauge("turnwatch_client_connections", "Open connections of clients.", float64(s.Clients.Load())),
		Gauge("turnwatch_open_streams", "Answers in progress.", float64(s.Streams.Load())),
		Gauge("turnwatch_judge_memory_bytes", "Bytes held for judging.", float64(s.JudgeMemory.Load())),
	}
}

// Metrics returns what became of the files' changes.
func (c *Certs) Metrics() []Metric {
	good, bad := c.Reloads()
	m := []Metric{byLabel("turnwatch_tls_reloads_total", "Changes of TLS files, by what became of them.", "result",
		map[string]int64{"taken": good, "kept_old": bad})}
	if end := c.Expiry(); !end.IsZero() {
		m = append(m, Gauge("turnwatch_tls_expiry_timestamp_seconds", "When the first of our certificates in use expires.", float64(end.Unix())))
	}
	return m
}

// merge joins families of one name, and adds up series of one name and labels,
// since the format allows each once.
func merge(all []Metric) []Metric {
	var out []Metric
	for _, m := range all {
		i := slices.IndexFunc(out, func(o Metric) bool { return o.Name == m.Name })
		if i < 0 {
			out = append(out, m)
			continue
		}
		for _, s := range m.Series {
			j := slices.IndexFunc(out[i].Series, func(o Sample) bool { return slices.Equal(o.Labels, s.Labels) })
			if j < 0 {
				out[i].Series = append(out[i].Series, s)
				continue
			}
			out[i].Series[j].Value += s.Value
		}
	}
	return out
}

// textFormat is the media type of what writeMetrics writes.
const textFormat = "text/plain; version=0.0.4; charset=utf-8"

// writeMetrics writes the text exposition format. Families without a series
// are left out.
func writeMetrics(w io.Writer, all []Metric) error {
	var b bytes.Buffer
	for _, m := range all {
		if len(m.Series) == 0 {
			continue
		}
		kind := "counter"
		if m.Gauge {
			kind = "gauge"
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", m.Name, escapeHelp(m.Help), m.Name, kind)
		for _, s := range m.Series {
			b.WriteString(m.Name)
			writeLabels(&b, s.Labels)
			b.WriteByte(' ')
			b.WriteString(strconv.FormatFloat(s.Value, 'g', -1, 64))
			b.WriteByte('\n')
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func writeLabels(b *bytes.Buffer, labels []Label) {
	for i, l := range labels {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(l.Name + `="` + escapeLabel(l.Value) + `"`)
	}
	if len(labels) > 0 {
		b.WriteByte('}')
	}
}

func escapeHelp(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(s)
}

func escapeLabel(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(s)
}
