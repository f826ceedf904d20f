package telemetry

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// TestVariablesWork: each of those that are documented does what it says,
// whether the SDK reads it or we do.
func TestVariablesWork(t *testing.T) {
	f := func(what string, env []string, holds func(*collector, *turn.Turn) bool) {
		t.Helper()
		c := newCollector(t)
		for i := range env {
			env[i] = strings.ReplaceAll(env[i], "URL", c.url)
		}
		r := start(t, Config{}, env...)
		bad := aTurn(corrupted(validate.ArgsEmpty), linked)
		r.Finish(bad)
		end(r)
		c.mu.Lock()
		defer c.mu.Unlock()
		if !holds(c, bad) {
			t.Errorf("%s, %q: got %d spans, %d metrics, %d records, %v", what, env, len(c.spans), len(c.metrics), len(c.records), c.header)
		}
	}
	all := "OTEL_EXPORTER_OTLP_ENDPOINT=URL"
	count := func(spans, records int, metrics bool) func(*collector, *turn.Turn) bool {
		return func(c *collector, _ *turn.Turn) bool {
			return len(c.spans) == spans && len(c.records) == records && (len(c.metrics) > 0) == metrics
		}
	}
	f("nothing is exported unasked", nil, count(0, 0, false))
	f("spans and metrics", []string{all}, count(1, 0, true))
	f("everything", []string{all, "OTEL_LOGS_EXPORTER=otlp"}, count(1, 1, true))
	f("disabled", []string{all, "OTEL_LOGS_EXPORTER=otlp", "OTEL_SDK_DISABLED=true"}, count(0, 0, false))
	f("no spans", []string{all, "OTEL_TRACES_EXPORTER=none"}, count(0, 0, true))
	f("no metrics", []string{all, "OTEL_METRICS_EXPORTER=prometheus"}, count(1, 0, false))
	f("no metrics", []string{all, "OTEL_METRICS_EXPORTER=none"}, count(1, 0, false))
	f("spans alone", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=URL/v1/traces"}, count(1, 0, false))
	f("metrics alone", []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=URL/v1/metrics"}, count(0, 0, true))
	f("records alone", []string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=URL/v1/logs", "OTEL_LOGS_EXPORTER=otlp"}, count(0, 1, false))
	f("the service", []string{all, "OTEL_SERVICE_NAME=sidecar", "OTEL_RESOURCE_ATTRIBUTES=team=x,service.version=9"}, func(c *collector, _ *turn.Turn) bool {
		return value(c.resource, "service.name") == "sidecar" && value(c.resource, "team") == "x" && value(c.resource, "service.version") == "9"
	})
	f("headers", []string{all, "OTEL_EXPORTER_OTLP_HEADERS=x-key=k1"}, func(c *collector, _ *turn.Turn) bool { return c.header.Get("X-Key") == "k1" })
	f("compression", []string{all, "OTEL_EXPORTER_OTLP_COMPRESSION=gzip"}, func(c *collector, _ *turn.Turn) bool { return c.gzipped })
	f("attributes", []string{all, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=3"}, func(c *collector, _ *turn.Turn) bool { return len(c.spans[0].Attributes) == 3 })
	f("events", []string{all, "OTEL_SPAN_EVENT_COUNT_LIMIT=1"}, func(c *collector, _ *turn.Turn) bool { return len(c.spans[0].Events) == 1 })
	f("links", []string{all}, func(c *collector, _ *turn.Turn) bool { return len(c.spans[0].Links) == 1 })
	f("no links", []string{all, "OTEL_SPAN_LINK_COUNT_LIMIT=0"}, func(c *collector, _ *turn.Turn) bool {
		return len(c.spans[0].Links) == 0
	})
	f("length", []string{all, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT=2"}, func(c *collector, _ *turn.Turn) bool { return value(c.spans[0].Attributes, AttrRID) == "ab" })
	f("no exemplars", []string{all, "OTEL_METRICS_EXEMPLAR_FILTER=always_off"}, func(c *collector, _ *turn.Turn) bool { return exemplars(c) == 0 })
	f("exemplars", []string{all}, func(c *collector, _ *turn.Turn) bool { return exemplars(c) > 0 })
	f("names", []string{all}, func(c *collector, _ *turn.Turn) bool {
		return c.metrics[MetricDuration] != nil && c.metrics[LatestDuration] == nil
	})
	f("the newest names", []string{all, "OTEL_SEMCONV_STABILITY_OPT_IN=http,gen_ai_latest_experimental"}, func(c *collector, _ *turn.Turn) bool {
		return c.metrics[LatestDuration] != nil && sum(c, LatestInput) == 100 && sum(c, LatestOutput) == 20 && c.metrics[MetricDuration] == nil && c.metrics[MetricTokens] == nil
	})
}

// sum adds up the series of a counter.
func sum(c *collector, name string) (n int64) {
	for _, p := range c.metrics[name].GetSum().GetDataPoints() {
		n += p.GetAsInt()
	}
	return n
}

// linked makes a turn that was sent because of another.
func linked(t *turn.Turn) { t.Trace.Link = &turn.Link{ID: [16]byte{1}, Span: [8]byte{2}} }

// exemplars counts those of the counter of turns.
func exemplars(c *collector) (n int) {
	for _, p := range c.metrics["turnwatch.turns"].GetSum().GetDataPoints() {
		n += len(p.Exemplars)
	}
	return n
}

// TestSpansGoOverGRPC, with headers.
func TestSpansGoOverGRPC(t *testing.T) {
	c := newCollector(t)
	r := start(t, Config{}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.overGRPC(t), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_HEADERS=x-key=k1")
	bad := aTurn(corrupted(validate.ArgsEmpty))
	r.Finish(bad)
	end(r)
	_, id := ids(bad)
	c.span(t, id)
	if c.header.Get("X-Key") != "k1" {
		t.Errorf("header: got %v", c.header)
	}
}

// TestCertificateOfACollectorIsTrusted: by the variable, and not without.
func TestCertificateOfACollectorIsTrusted(t *testing.T) {
	c := newCollector(t)
	s := httptest.NewTLSServer(c)
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, trust := range []string{"", "OTEL_EXPORTER_OTLP_CERTIFICATE=" + file} {
		r := start(t, Config{}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+s.URL+"/v1/traces", trust)
		r.Finish(aTurn(corrupted(validate.ArgsEmpty)))
		end(r)
		if got := len(c.spans) > 0; got != (trust != "") {
			t.Errorf("with %q: exported: %v", trust, got)
		}
	}
}

// TestDelaysAndQueuesAreThoseOfTheVariables.
func TestDelaysAndQueuesAreThoseOfTheVariables(t *testing.T) {
	c := newCollector(t)
	r := start(t, Config{}, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.url, "OTEL_LOGS_EXPORTER=otlp", "OTEL_BSP_SCHEDULE_DELAY=1", "OTEL_BLRP_SCHEDULE_DELAY=1", "OTEL_METRIC_EXPORT_INTERVAL=10")
	r.Finish(aTurn(corrupted(validate.ArgsEmpty)))
	await(t, "an export without an end", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.spans) == 1 && len(c.records) == 1 && len(c.metrics) > 0
	})
	end(r)
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(10 * time.Millisecond) }))
	defer hung.Close()
	r = start(t, Config{}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+hung.URL, "OTEL_BSP_MAX_QUEUE_SIZE=4", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=2", "OTEL_BSP_SCHEDULE_DELAY=60000")
	for range 100 {
		r.Finish(aTurn(corrupted(validate.ArgsEmpty)))
	}
	end(r)
	sent, dropped := r.own.exported.get(traces), r.own.dropped.get(traces+" "+queueFull)
	if sent < 4 || sent+dropped != 100 {
		t.Errorf("got %d exported and %d dropped, want 100 together and some of both", sent, dropped)
	}
}

func TestVariablesThatMakeNoSense(t *testing.T) {
	f := func(env, want string) {
		t.Helper()
		for _, name := range Environment() {
			t.Setenv(name, "")
		}
		name, v, _ := strings.Cut(env, "=")
		t.Setenv(name, v)
		if name == "OTEL_TRACES_SAMPLER_ARG" {
			t.Setenv("OTEL_TRACES_SAMPLER", "traceidratio")
		}
		if err := CheckEnvironment(); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", env, err, want)
		}
	}
	f("OTEL_TRACES_SAMPLER=jaeger_remote", "traceidratio")
	f("OTEL_TRACES_SAMPLER_ARG=2", "share")
	f("OTEL_BSP_MAX_QUEUE_SIZE=x", "number")
	f("OTEL_BLRP_MAX_QUEUE_SIZE=0", "number")
	f("OTEL_PROPAGATORS=b3", "tracecontext")
	f("OTEL_TRACES_EXPORTER=zipkin", "otlp")
	f("OTEL_LOGS_EXPORTER=console", "otlp")
	f("OTEL_EXPORTER_OTLP_PROTOCOL=http/json", "grpc")
	f("OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318", "http://HOST:PORT")
	f("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=127.0.0.1:4318", "http://HOST:PORT")
}

// TestExportOfMetricsEndsAtItsTime: one that hangs is given up, though the
// exporter itself would wait longer.
func TestExportOfMetricsEndsAtItsTime(t *testing.T) {
	left := make(chan struct{}, 16)
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		io.Copy(io.Discard, req.Body) // until then nobody hears that the client leaves
		<-req.Context().Done()
		left <- struct{}{}
	}))
	defer hung.Close()
	r := start(t, Config{}, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+hung.URL, "OTEL_METRIC_EXPORT_INTERVAL=20", "OTEL_METRIC_EXPORT_TIMEOUT=100", "OTEL_EXPORTER_OTLP_TIMEOUT=600000")
	await(t, "an export that was given up", func() bool { return r.own.exports.get(metrics+" failed") > 0 && len(left) > 0 })
	go func() {
		for range left {
		}
	}()
	endWithin(r, time.Second)
	hung.Close()
	close(left)
}

// TestVariablesThatTheSDKCannotRead are told in our own log.
func TestVariablesThatTheSDKCannotRead(t *testing.T) {
	c := newCollector(t)
	var out bytes.Buffer
	r := start(t, Config{Logger: slog.New(slog.NewJSONHandler(&out, nil))}, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+c.url, "OTEL_METRIC_EXPORT_TIMEOUT=soon")
	end(r)
	otel.SetLogger(logr.Discard())
	var line struct{ Level string }
	if err := json.NewDecoder(&out).Decode(&line); err != nil || line.Level != "ERROR" {
		t.Errorf("got %+v, %v", line, err)
	}
}
