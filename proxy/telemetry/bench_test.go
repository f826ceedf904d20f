package telemetry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	tracedata "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

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
				r.spans.batches.Shutdown(b.Context())
				r.spans = newSpans(&spanSender{nowhere{}, from(resource.Empty()), nil, exporter{traces, r.spans.room, r.own}}, r.spans.room, r.own, r.metrics.server, nil)
			}
			r.Finish(all[0])
			b.ReportAllocs()
			before := cpuTime()
			for i := 0; b.Loop(); i++ {
				r.Finish(all[i%len(all)])
				if i%1000 == 0 && r.spans != nil {
					r.spans.batches.ForceFlush(b.Context())
				}
			}
			b.ReportMetric(float64(cpuTime()-before)/1e3/float64(b.N), "cpu-µs/turn")
			if r.spans != nil {
				b.ReportMetric(float64(r.own.exported.get(traces))/float64(b.N), "spans/turn")
			}
		})
	}
	none := func(*collector) []string { return nil }
	spans := func(*collector) []string {
		return []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + answering(b, func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })}
	}
	zipped := func(c *collector) []string { return append(spans(c), "OTEL_EXPORTER_OTLP_COMPRESSION=gzip") }
	overGRPC := func(c *collector) []string {
		return []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://" + c.listen(b, grpc.ForceServerCodecV2(deaf{}))}
	}
	pushed := func(c *collector) []string { return []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + c.url} }
	sampled, bad := func(t *turn.Turn) { t.Trace.Sampled = true }, corrupted(validate.SchemaValue, validate.ArgsSchemaViolated)
	f("unsampled", none)
	f("unsampled, metrics pushed", pushed)
	f("unsampled, spans of others exported", spans)
	f("corrupted, no spans", none, bad)
	f("sampled", spans, sampled)
	f("sampled, over gRPC", overGRPC, sampled)
	f("sampled, zipped", zipped, sampled)
	f("sampled and corrupted", spans, bad)
	unsent = true
	f("sampled, not sent", spans, sampled)
	f("sampled and corrupted, not sent", spans, bad)
}

// deaf is a server's codec that looks at nothing which comes.
type deaf struct{}

func (deaf) Name() string { return "proto" }

func (deaf) Marshal(any) (mem.BufferSlice, error) { return nil, nil }

func (deaf) Unmarshal(mem.BufferSlice, any) error { return nil }

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

// nowhere takes spans and sends none.
type nowhere struct{ otlptrace.Client }

func (nowhere) UploadTraces(context.Context, []*tracedata.ResourceSpans) error { return nil }

func (nowhere) Stop(context.Context) error { return nil }
