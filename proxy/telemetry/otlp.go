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
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
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

type spanExporter struct {
	sdktrace.SpanExporter
	exporter
}

func (x *spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return x.export(len(spans), func() error { return x.SpanExporter.ExportSpans(ctx, spans) })
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

// The makers of exporters take all else from the environment: headers,
// certificates, compression, time limits.

func newSpanExporter(ctx context.Context, protocol string) (sdktrace.SpanExporter, error) {
	if protocol == overGRPC {
		return otlptracegrpc.New(ctx, target(traces, otlptracegrpc.WithEndpointURL)...)
	}
	return otlptracehttp.New(ctx)
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
