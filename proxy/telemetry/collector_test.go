package telemetry

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logdata "go.opentelemetry.io/proto/otlp/logs/v1"
	metricdata "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracedata "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// collector takes what is exported by OTLP, over HTTP or gRPC, and keeps it.
type collector struct {
	tracepb.UnimplementedTraceServiceServer

	url string

	mu       sync.Mutex
	spans    []*tracedata.Span
	records  []*logdata.LogRecord
	metrics  map[string]*metricdata.Metric
	resource []*common.KeyValue
	scopes   map[string]string // schema URLs by the scope's name
	header   http.Header
	gzipped  bool
}

func newCollector(t testing.TB) *collector {
	c := &collector{metrics: map[string]*metricdata.Metric{}, scopes: map[string]string{}}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	gzipped := r.Header.Get("Content-Encoding") == "gzip"
	if gzipped {
		body, _ = gzip.NewReader(r.Body)
	}
	b, _ := io.ReadAll(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header, c.gzipped = r.Header, gzipped
	switch {
	case strings.HasSuffix(r.URL.Path, "/v1/traces"):
		var m tracepb.ExportTraceServiceRequest
		if proto.Unmarshal(b, &m) == nil {
			c.take(&m)
		}
	case strings.HasSuffix(r.URL.Path, "/v1/logs"):
		var m logspb.ExportLogsServiceRequest
		if proto.Unmarshal(b, &m) == nil {
			c.takeLogs(&m)
		}
	case strings.HasSuffix(r.URL.Path, "/v1/metrics"):
		var m metricspb.ExportMetricsServiceRequest
		if proto.Unmarshal(b, &m) == nil {
			c.takeMetrics(&m)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *collector) take(m *tracepb.ExportTraceServiceRequest) {
	for _, rs := range m.ResourceSpans {
		c.resource = rs.Resource.Attributes
		for _, ss := range rs.ScopeSpans {
			c.scopes[ss.Scope.Name] = ss.SchemaUrl
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

func (c *collector) takeLogs(m *logspb.ExportLogsServiceRequest) {
	for _, rl := range m.ResourceLogs {
		for _, sl := range rl.ScopeLogs {
			c.records = append(c.records, sl.LogRecords...)
		}
	}
}

func (c *collector) takeMetrics(m *metricspb.ExportMetricsServiceRequest) {
	for _, rm := range m.ResourceMetrics {
		for _, sm := range rm.ScopeMetrics {
			for _, one := range sm.Metrics {
				c.metrics[one.Name] = one
			}
		}
	}
}

// Export is the collector's end over gRPC.
func (c *collector) Export(ctx context.Context, m *tracepb.ExportTraceServiceRequest) (*tracepb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	md, _ := metadata.FromIncomingContext(ctx)
	c.header = http.Header{}
	for k, v := range md {
		c.header[http.CanonicalHeaderKey(k)] = v
	}
	c.take(m)
	return &tracepb.ExportTraceServiceResponse{}, nil
}

// overGRPC makes the collector listen for gRPC too, and returns where.
func (c *collector) overGRPC(t testing.TB) string { return "http://" + c.listen(t) }

func (c *collector) listen(t testing.TB, opts ...grpc.ServerOption) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(opts...)
	tracepb.RegisterTraceServiceServer(s, c)
	logspb.RegisterLogsServiceServer(s, logsOf{c: c})
	metricspb.RegisterMetricsServiceServer(s, metricsOf{c: c})
	go s.Serve(ln)
	t.Cleanup(s.Stop)
	return ln.Addr().String()
}

// logsOf is the collector's end for logs over gRPC.
type logsOf struct {
	logspb.UnimplementedLogsServiceServer
	c *collector
}

// Export takes log records.
func (l logsOf) Export(_ context.Context, m *logspb.ExportLogsServiceRequest) (*logspb.ExportLogsServiceResponse, error) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.c.takeLogs(m)
	return &logspb.ExportLogsServiceResponse{}, nil
}

// metricsOf is the collector's end for metrics over gRPC.
type metricsOf struct {
	metricspb.UnimplementedMetricsServiceServer
	c *collector
}

// Export takes metrics.
func (l metricsOf) Export(_ context.Context, m *metricspb.ExportMetricsServiceRequest) (*metricspb.ExportMetricsServiceResponse, error) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.c.takeMetrics(m)
	return &metricspb.ExportMetricsServiceResponse{}, nil
}

func (c *collector) spanCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.spans)
}

// span returns the one span that was taken with an id.
func (c *collector) span(t testing.TB, id string) *tracedata.Span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var found *tracedata.Span
	for _, s := range c.spans {
		if hex.EncodeToString(s.SpanId) == id {
			if found != nil {
				t.Errorf("span %s came twice", id)
			}
			found = s
		}
	}
	if found == nil {
		t.Fatalf("span %s did not come; %d others did", id, len(c.spans))
	}
	return found
}

// value returns an attribute as text, lists joined by commas.
func value(all []*common.KeyValue, key string) string {
	for _, kv := range all {
		if kv.Key == key {
			return text(kv.Value)
		}
	}
	return ""
}

func text(v *common.AnyValue) string {
	switch x := v.Value.(type) {
	case *common.AnyValue_StringValue:
		return x.StringValue
	case *common.AnyValue_ArrayValue:
		var all []string
		for _, e := range x.ArrayValue.Values {
			all = append(all, text(e))
		}
		return strings.Join(all, ",")
	}
	return strings.TrimSpace(v.String()[strings.Index(v.String(), ":")+1:])
}
