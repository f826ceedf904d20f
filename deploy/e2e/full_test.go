//go:build e2e && full

package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"
)

// fetched builds a command of a published module that go install refuses.
func fetched(t *testing.T, pkg, version string) string {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, filepath.Base(pkg))
	for _, args := range [][]string{
		{"mod", "init", "turnwatch/deploy/e2e/fetched"},
		{"get", "-tool", pkg + "@" + version},
		{"build", "-trimpath", "-ldflags=-s -w", "-o", out, pkg},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, msg)
		}
	}
	return out
}

// TestPrometheus3: turnwatch pushes its metrics to Prometheus 3 by OTLP, which
// counts every turn; every panel finds its series.
func TestPrometheus3(t *testing.T) {
	s := &scene{hook: newHook(t), store: store{"http://" + at(port(t))}}
	s.collect(t, nil)
	sim, other := s.serve(t)
	s.watch(t, []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + s.store.url + "/api/v1/otlp/v1/metrics"}, sim, other)
	s.prometheus3(t, sim)
	s.agree(t)
}

// TestVictoriaMetrics: the same, where VictoriaMetrics scrapes.
func TestVictoriaMetrics(t *testing.T) {
	s := &scene{hook: newHook(t), store: store{"http://" + at(port(t))}}
	s.collect(t, nil)
	sim, other := s.serve(t)
	s.watch(t, nil, sim, other)
	s.victoria(t, sim)
	s.agree(t)
}

// agree plays sessions, and holds the store against the journal and the panels.
func (s *scene) agree(t *testing.T) {
	s.play(t, 3, 1, 900)
	until(t, "the store knows of no turn", func() error {
		_, err := s.store.sum(`turnwatch_turns_total{turnwatch_verdict="corrupted"}`)
		return err
	})
	s.play(t, 60, 20, 1)
	turns := s.settled(t)
	t.Run("every turn is counted", func(t *testing.T) { s.counted(t, turns, "") })
	t.Run("panels", func(t *testing.T) { s.panels(t) })
}

// TestJaeger: the Collector hands spans to Jaeger, which finds every corrupted
// turn by its verdict.
func TestJaeger(t *testing.T) {
	s := &scene{hook: newHook(t)}
	jaeger, ui := at(port(t)), at(port(t))
	start(t, nil, fetched(t, "github.com/jaegertracing/jaeger/cmd/jaeger", "v1.76.0"),
		"--set=extensions.jaeger_query.http.endpoint="+ui, "--set=receivers.otlp.protocols.grpc.endpoint="+jaeger,
		"--set=receivers.otlp.protocols.http.endpoint="+at(port(t)))
	s.collect(t, []string{"JAEGER=" + jaeger}, "--config", path(t, "otelcol/jaeger.yaml"))
	sim, other := s.serve(t)
	s.watch(t, nil, sim, other)
	s.play(t, 60, 20, 1)
	s.found(t, "http://"+ui, s.settled(t))
}

// prometheus3 starts a Prometheus that scrapes SGLang alone, and takes what
// turnwatch pushes.
func (s *scene) prometheus3(t *testing.T, sim string) {
	web := s.store.url[len("http://"):]
	config := s.config(t, sim, "  - job_name: turnwatch\n    static_configs:\n      - targets: ["+s.admin+"]\n", "",
		"alertmanager:9093", at(port(t)), "127.0.0.1:9090", web)
	start(t, nil, install(t, "github.com/prometheus/prometheus/cmd/prometheus@v0.316.0"), "--config.file="+config, "--storage.tsdb.path="+t.TempDir(),
		"--web.listen-address="+web, "--web.enable-otlp-receiver", "--enable-feature=exemplar-storage")
	ready(t, s.store.url+"/-/ready")
}

// victoria starts VictoriaMetrics, which scrapes as Prometheus does.
func (s *scene) victoria(t *testing.T, sim string) {
	web := s.store.url[len("http://"):]
	start(t, nil, install(t, "github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics@v1.151.0"),
		"-promscrape.config="+s.config(t, sim, "alertmanager:9093", at(port(t)), "127.0.0.1:9090", web), "-promscrape.config.strictParse=false",
		"-storageDataPath="+t.TempDir(), "-httpListenAddr="+web, "-search.latencyOffset=1ms")
	ready(t, s.store.url+"/health")
}

// found counts the corrupted turns that Jaeger finds.
func (s *scene) found(t *testing.T, jaeger string, turns []record) {
	want := 0
	for _, r := range turns {
		if r.Verdict == "corrupted" {
			want++
		}
	}
	until(t, "Jaeger finds others", func() error {
		b, err := get(jaeger + "/api/traces?" + url.Values{"service": {"turnwatch"}, "limit": {"1000"}, "lookback": {"1h"},
			"tags": {`{"turnwatch.verdict":"corrupted"}`}}.Encode())
		if err != nil {
			return err
		}
		var found struct{ Data []any }
		if err := json.Unmarshal(b, &found); err != nil || len(found.Data) != want {
			return fmt.Errorf("got %d traces, want %d, %v", len(found.Data), want, err)
		}
		return nil
	})
	t.Logf("%d of %d corrupted turns", want, want)
}
