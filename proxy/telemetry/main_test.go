package telemetry

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/leaktest"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// start makes a Recorder that ends with the test. What the machine's own
// environment says of OpenTelemetry is left out.
func start(t testing.TB, cfg Config, env ...string) *Recorder {
	t.Helper()
	for _, name := range Environment() {
		t.Setenv(name, "")
	}
	for _, e := range env {
		if name, value, ok := strings.Cut(e, "="); ok {
			t.Setenv(name, value)
		}
	}
	if cfg.Limits == (Limits{}) {
		cfg.Limits = Limits{TraceRate: 1e6, LogRate: 1e6}
	}
	r, err := New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(r) })
	return r
}

// end ends a Recorder, once or again, and waits for what is exported.
func end(r *Recorder) { endWithin(r, patience) }

func endWithin(r *Recorder, limit time.Duration) {
	select {
	case <-r.stop:
		return
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r.Shutdown(ctx)
}

// aTurn is a clean one, changed by those who need another.
func aTurn(change ...func(*turn.Turn)) *turn.Turn {
	t := &turn.Turn{V: turn.Version, ID: turn.NewID(), RequestID: "r1", Time: time.Now().Add(-time.Second), Model: "m", Path: "/v1/chat/completions", Stream: true,
		Status: 200, BytesIn: 2000, BytesOut: 3000, TTFBMS: 12, DurationMS: 800, Arm: turn.Live, Session: turn.NewID(), Number: 1, Fingerprint: "1a2b3c4d",
		Trace: turn.NewTrace(),
		Tags: map[string]turn.Tag{"batch": {Value: "7", Source: "facts"}, "index_dtype": {Value: "bf16", Source: "header"},
			"cuda_graph": {Value: "on", Source: "header"}, "version": {Value: "0.5.18", Source: "header"}, "rid": {Value: "abc", Source: "header"}}}
	t.Ending = validate.Complete
	t.Verdict = validate.Verdict{Outcome: validate.Clean, Calls: 1, FinishReasons: []string{"tool_calls"}, Checks: []validate.Check{validate.CheckWire, validate.CheckJSON},
		Usage: &validate.Usage{PromptTokens: 100, CompletionTokens: 20}}
	for _, c := range change {
		c(t)
	}
	return t
}

// corrupted makes a turn corrupted by findings of these kinds.
func corrupted(kinds ...validate.Kind) func(*turn.Turn) {
	return func(t *turn.Turn) {
		t.Outcome = validate.Corrupted
		call := 0
		for _, k := range kinds {
			t.Findings = append(t.Findings, validate.Finding{Kind: k, Severity: validate.Critical, Cause: validate.CauseUnknown, Call: &call, Tool: "f", Path: "/a", Offset: 99, AtMS: 300})
		}
	}
}

func inSession(id string) func(*turn.Turn) { return func(t *turn.Turn) { t.Session = id } }

// scrape reads /metrics, as OpenMetrics or as text.
func scrape(t testing.TB, r *Recorder, open bool) string {
	t.Helper()
	req := httptest.NewRequest("GET", "/metrics", nil)
	if open {
		req.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	}
	w := httptest.NewRecorder()
	r.Metrics().ServeHTTP(w, req)
	if w.Code != http.StatusOK {
		t.Fatalf("/metrics: got %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// has looks for series, written as name{label="value",…} value; labels may be
// left out.
func has(t testing.TB, r *Recorder, want ...string) {
	t.Helper()
	text := scrape(t, r, false)
	for _, w := range want {
		if !lineOf(w).MatchString(text) {
			name, _, _ := strings.Cut(w, "{")
			t.Errorf("got no %s among\n%s", w, strings.Join(regexp.MustCompile(`(?m)^`+name+`.*$`).FindAllString(text, 40), "\n"))
		}
	}
}

// lineOf makes a pattern of a series in which labels may be left out.
func lineOf(s string) *regexp.Regexp {
	name, rest, _ := strings.Cut(s, "{")
	labels, value, ok := strings.Cut(rest, "} ")
	if !ok {
		return regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(s) + `$`)
	}
	p := `(?m)^` + regexp.QuoteMeta(name) + `\{`
	for l := range strings.SplitSeq(labels, ",") {
		p += `(?:[^}]*,)?` + regexp.QuoteMeta(l)
	}
	return regexp.MustCompile(p + `(?:,[^}]*)?\} ` + regexp.QuoteMeta(value) + `$`)
}

// await waits until a condition holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}

// discard is a log that nobody reads.
func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func ids(t *turn.Turn) (trace, span string) {
	return fmt.Sprintf("%x", t.Trace.ID), fmt.Sprintf("%x", t.Trace.Span)
}

// get returns what was counted.
func (c *counts) get(value string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[value]
}

// quiet is a log that nobody reads, of a server that refuses connections.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
