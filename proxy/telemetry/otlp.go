package telemetry

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resourcedata "go.opentelemetry.io/proto/otlp/resource/v1"
	tracedata "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// room counts what is on its way to an exporter. The SDK's queues drop what
// they have no room for without a word; what finds no room here is not even
// made. It is as large as the queue behind it, so that one never drops.
type room struct {
	size    int64
	pending atomic.Int64
}

// take reserves a place. What matters less leaves half of them free.
func (r *room) take(matters bool) bool {
	limit := r.size
	if !matters {
		limit /= 2
	}
	if r.pending.Add(1) > limit {
		r.pending.Add(-1)
		return false
	}
	return true
}

// exporter counts what becomes of the records of one signal.
type exporter struct {
	signal string
	room   *room
	own    *own
}

// export gives back the places of n records and calls send.
func (x *exporter) export(n int, send func() error) error {
	if x.room != nil {
		x.room.pending.Add(-int64(n))
	}
	err := send()
	if err != nil {
		x.own.exports.add(1, x.signal+" failed")
		x.own.dropped.add(int64(n), x.signal+" "+exportFailed)
		return fmt.Errorf("export %s: %w", x.signal, err)
	}
	x.own.exports.add(1, x.signal+" ok")
	x.own.exported.add(int64(n), x.signal)
	return nil
}

// spanSender sends spans that are written. The SDK's client does that: it knows
// the endpoint, headers, certificates, compression, time limits and when to try
// again.
type spanSender struct {
	client otlptrace.Client
	from   *tracedata.ResourceSpans // who sends
	said   *content                 // whose room is given back
	exporter
}

// scopeSpans is the field of OTLP's message ScopeSpans that lists the spans.
const scopeSpans = 2

// ExportSpans puts what is written in place of the objects that it would be
// marshalled from.
func (x *spanSender) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	size := 0
	for _, s := range spans {
		size += len(s.(*written).message)
	}
	all := make(protoreflect.RawFields, 0, size)
	for _, s := range spans {
		all = append(all, s.(*written).message...)
		x.said.free(s.(*written).said)
	}
	list := &tracedata.ScopeSpans{Scope: &common.InstrumentationScope{Name: scope}, SchemaUrl: SchemaURL}
	list.ProtoReflect().SetUnknown(all)
	send := &tracedata.ResourceSpans{Resource: x.from.Resource, SchemaUrl: x.from.SchemaUrl, ScopeSpans: []*tracedata.ScopeSpans{list}}
	return x.export(len(spans), func() error { return x.client.UploadTraces(ctx, []*tracedata.ResourceSpans{send}) })
}

// Shutdown ends the client.
func (x *spanSender) Shutdown(ctx context.Context) error { return x.client.Stop(ctx) }

// from is who sends, as OTLP has it.
func from(res *resource.Resource) *tracedata.ResourceSpans {
	r := &resourcedata.Resource{}
	for _, kv := range res.Attributes() {
		text := &common.AnyValue_StringValue{StringValue: kv.Value.String()}
		r.Attributes = append(r.Attributes, &common.KeyValue{Key: string(kv.Key), Value: &common.AnyValue{Value: text}})
	}
	return &tracedata.ResourceSpans{Resource: r, SchemaUrl: res.SchemaURL()}
}

type logExporter struct {
	sdklog.Exporter
	exporter
}

func (x *logExporter) Export(ctx context.Context, records []sdklog.Record) error {
	return x.export(len(records), func() error { return x.Exporter.Export(ctx, records) })
}

type metricExporter struct {
	sdkmetric.Exporter
	exporter
}

// Export sends what is counted; what fails is sent again with the next.
func (x *metricExporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	return x.export(0, func() error { return x.Exporter.Export(ctx, m) })
}

// The makers of clients and exporters take all else from the environment: headers,
// certificates, compression, time limits.

func newSpanClient(ctx context.Context, protocol string) (c otlptrace.Client, err error) {
	if protocol == overGRPC {
		c = otlptracegrpc.NewClient(target(traces, otlptracegrpc.WithEndpointURL)...)
	} else {
		c = otlptracehttp.NewClient()
	}
	return c, c.Start(ctx)
}

func newMetricExporter(ctx context.Context, protocol string) (sdkmetric.Exporter, error) {
	if protocol == overGRPC {
		return otlpmetricgrpc.New(ctx, target(metrics, otlpmetricgrpc.WithEndpointURL)...)
	}
	return otlpmetrichttp.New(ctx)
}

func newLogExporter(ctx context.Context, protocol string) (sdklog.Exporter, error) {
	if protocol == overGRPC {
		return otlploggrpc.New(ctx, target(logs, otlploggrpc.WithEndpointURL)...)
	}
	return otlploghttp.New(ctx)
}

// target says where a signal goes over gRPC, for the SDK's exporters do not
// agree on host:port and on what INSECURE means beside a scheme. Endpoints of
// other schemes, as unix, are left to them.
func target[O any](signal string, with func(url string) O) []O {
	url := grpcURL(os.Getenv(otlp(signal, "ENDPOINT")), strings.EqualFold(os.Getenv(otlp(signal, "INSECURE")), "true"))
	if url == "" {
		return nil
	}
	return []O{with(url)}
}

// grpcURL completes an endpoint without a scheme: it is secured, unless insecure
// says otherwise. A scheme says it itself.
func grpcURL(endpoint string, insecure bool) string {
	scheme, _, named := strings.Cut(endpoint, "://")
	switch {
	case scheme == "http" || scheme == "https":
		return endpoint
	case endpoint == "" || named || strings.HasPrefix(endpoint, "unix:"):
		return ""
	case insecure:
		return "http://" + strings.TrimPrefix(endpoint, "//")
	}
	return "https://" + strings.TrimPrefix(endpoint, "//")
}
