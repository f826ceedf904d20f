package telemetry

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// BenchmarkTurn is what telemetry adds to a turn: measuring alone, with metrics
// pushed, too, and with a span. It reports the CPU time of the whole process,
// so that what is done later is in it, and what other processes do is not. Only
// spans that were exported count as sampled: the others found no room.
func BenchmarkTurn(b *testing.B) {
	unsent := false
	f := func(name string, env func(c *collector) []string, change ...func(*turn.Turn)) {
		b.Run(name, func(b *testing.B) {
			c := newCollector(b)
			r := start(b, Config{Upstream: "http://10.0.0.1:30000"}, env(c)...)
			all := make([]*turn.Turn, 512)
			for i := range all {
				all[i] = aTurn(change...)
				all[i].Session = fmt.Sprint(i % 64)
			}
			if unsent {
				r.spans.provider.Shutdown(b.Context())
				r.spans = newSpans(tracetest.NewNoopExporter(), resource.Empty(), 2048, r.own, r.metrics.server)
			}
			r.Finish(all[0])
			b.ReportAllocs()
			before := cpuTime()
			for i := 0; b.Loop(); i++ {
				r.Finish(all[i%len(all)])
				if i%1000 == 0 && r.spans != nil {
					r.spans.provider.ForceFlush(b.Context())
				}
			}
			b.ReportMetric(float64(cpuTime()-before)/1e3/float64(b.N), "cpu-µs/turn")
			if r.spans != nil {
				b.ReportMetric(float64(r.own.exported.get(traces))/float64(b.N), "spans/turn")
			}
		})
	}
	none := func(*collector) []string { return nil }
	spans := func(c *collector) []string {
		return []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + c.url + "/nowhere"}
	}
	pushed := func(c *collector) []string { return []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + c.url} }
	f("unsampled", none)
	f("unsampled, metrics pushed", pushed)
	f("unsampled, spans of others exported", spans)
	f("corrupted, no spans", none, corrupted(validate.SchemaValue, validate.ArgsSchemaViolated))
	f("sampled", spans, func(t *turn.Turn) { t.Trace.Sampled = true })
	f("sampled and corrupted", spans, corrupted(validate.SchemaValue, validate.ArgsSchemaViolated))
	unsent = true
	f("sampled, not sent", spans, func(t *turn.Turn) { t.Trace.Sampled = true })
	f("sampled and corrupted, not sent", spans, corrupted(validate.SchemaValue, validate.ArgsSchemaViolated))
}

// cpuTime is what the process has used, user and system.
func cpuTime() time.Duration {
	var use syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkScrape is what a scrape takes when all series of one configuration
// are there.
func BenchmarkScrape(b *testing.B) {
	r := start(b, Config{})
	r.Finish(aTurn())
	for b.Loop() {
		scrape(b, r, true)
	}
}
