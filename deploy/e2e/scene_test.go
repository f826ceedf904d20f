//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// scene is everything at work: agents → turnwatch → simulated SGLang, with
// another arm beside it, and what watches.
type scene struct {
	turnwatch string // where clients connect
	admin     string // the address of its admin listener
	journal   string
	traces    string // the Collector's files
	turns     string
	pushed    string // the address at which the Collector shows metrics
	own       string // and its own
	otlp      string // the Collector's, for OTLP/HTTP
	store     store
	hook      *hook
	stress    string // the command
}

// hook receives what Alertmanager delivers.
type hook struct {
	*httptest.Server
	mu    sync.Mutex
	pages []page
}

// page is an alert as it is delivered.
type page struct {
	Path, Status        string
	Labels, Annotations map[string]string
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Alerts []page }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, p := range body.Alerts {
			p.Path = r.URL.Path
			h.pages = append(h.pages, p)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// delivered returns the page of a name that came; without one, what came says the error.
func (h *hook) delivered(name string) (page, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.pages {
		if p.Labels["alertname"] == name {
			return p, nil
		}
	}
	return page{}, fmt.Errorf("got %v", h.pages)
}

// open starts everything.
func open(t *testing.T) *scene {
	s := &scene{hook: newHook(t)}
	s.collect(t, nil)
	sim, other := s.serve(t)
	s.watch(t, nil, sim, other)
	s.observe(t, sim)
	return s
}

// serve starts two simulated servers: the first corrupts tool calls under the
// conditions of the origin story, the other has another type of index keys.
func (s *scene) serve(t *testing.T) (sim, other string) {
	command := build(t, root, "./cmd/simsglang")
	s.stress = build(t, root, "./cmd/turnstress")
	sim, other = at(port(t)), at(port(t))
	start(t, nil, command, "-listen", sim, "-step", "4ms", "-fault", "origin:0.3")
	start(t, nil, command, "-listen", other, "-step", "4ms", "-fault", "origin:0.3", "-index-dtype", "fp8")
	ready(t, "http://"+sim+"/v1/models")
	ready(t, "http://"+other+"/v1/models")
	return sim, other
}

// collect starts the Collector with the configuration that is deployed.
func (s *scene) collect(t *testing.T, env []string, more ...string) {
	dir := t.TempDir()
	s.traces, s.turns = filepath.Join(dir, "traces.jsonl"), filepath.Join(dir, "turns.jsonl")
	s.pushed, s.otlp = at(port(t)), at(port(t))
	self, health := port(t), at(port(t))
	s.own = at(self)
	args := append([]string{"--config", path(t, "otelcol/config.yaml")}, more...)
	start(t, append(env,
		"OTLP_HTTP="+s.otlp, "OTLP_GRPC="+at(port(t)), "PROMETHEUS="+s.pushed, "HEALTH="+health, "SELF_PORT="+self,
		"TRACES_FILE="+s.traces, "TURNS_FILE="+s.turns, "DECISION_WAIT=1s",
	), build(t, path(t, "otelcol"), "."), args...)
	ready(t, "http://"+health+"/")
}

// watch starts turnwatch. It keeps every span, so that it is the Collector that
// chooses.
func (s *scene) watch(t *testing.T, env []string, sim, other string) {
	s.turnwatch, s.admin = at(port(t)), at(port(t))
	s.journal = filepath.Join(t.TempDir(), "turns.jsonl")
	start(t, append([]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + s.otlp, "OTEL_LOGS_EXPORTER=otlp", "OTEL_RESOURCE_ATTRIBUTES=service.instance.id=one",
		"OTEL_METRIC_EXPORT_INTERVAL=1000", "OTEL_BSP_SCHEDULE_DELAY=200", "OTEL_BLRP_SCHEDULE_DELAY=200",
	}, env...), build(t, root, "./cmd/turnwatch"), "-upstream", "http://"+sim, "-listen", s.turnwatch, "-admin", s.admin,
		"-journal", s.journal, "-trace-ratio", "1", "-trace-rate", "10000", "-byte-check", "1", "-session-idle", "2s",
		"-shadow", "candidate=http://"+other, "-shadow-ratio", "1", "-probe-rate", "1/h")
	ready(t, "http://"+s.admin+"/livez")
}

// observe starts Prometheus and Alertmanager with the configuration that is
// deployed, but for addresses and for how often they look.
func (s *scene) observe(t *testing.T, sim string) {
	manager, web := at(port(t)), at(port(t))
	config := s.config(t, sim, "# - job_name: turnwatch-pushed", "- job_name: turnwatch-pushed", "#   static_configs", "  static_configs",
		"#     - targets: [otelcol:8889]", "    - targets: ["+s.pushed+"]", "alertmanager:9093", manager, "127.0.0.1:9090", web)
	start(t, nil, "prometheus-alertmanager", "--config.file="+adapted(t, "alertmanager/alertmanager.yaml", "http://127.0.0.1:9095", s.hook.URL, "10s", "1s", "1m\n", "1s\n"),
		"--storage.path="+t.TempDir(), "--web.listen-address="+manager, "--cluster.listen-address=")
	start(t, nil, "prometheus", "--config.file="+config, "--storage.tsdb.path="+t.TempDir(), "--web.listen-address="+web, "--enable-feature=exemplar-storage")
	s.store = store{"http://" + web}
	ready(t, s.store.url+"/-/ready")
	ready(t, "http://"+manager+"/-/ready")
}

// config is Prometheus' configuration for this scene.
func (s *scene) config(t *testing.T, sim string, replace ...string) string {
	return adapted(t, "prometheus/prometheus.yaml", append([]string{"15s", "1s", "rules.yaml\n", path(t, "prometheus/rules.yaml") + "\n",
		"turnwatch:9464", s.admin, "sglang:30000", sim, "otelcol:8888", s.own}, replace...)...)
}

// play has agents play sessions, and returns when all are answered.
func (s *scene) play(t *testing.T, sessions, concurrency, seed int) {
	t.Helper()
	cmd := exec.Command(s.stress, "-target", "http://"+s.turnwatch, "-model", "sim/DeepSeek-V4", "-sessions", fmt.Sprint(sessions),
		"-concurrency", fmt.Sprint(concurrency), "-seed", fmt.Sprint(seed), "-max-time", "2m")
	out, err := cmd.CombinedOutput()
	// Exit 1 says that turns are corrupted, which they should be.
	if err != nil && cmd.ProcessState.ExitCode() != 1 && cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("turnstress: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "CORRUPTION") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// settled waits until the journal has not grown for some seconds, and returns its turns.
func (s *scene) settled(t *testing.T) []record {
	t.Helper()
	var turns []record
	var size int64 = -1
	until(t, "the journal goes on growing", func() error {
		time.Sleep(3 * time.Second)
		info, err := os.Stat(s.journal)
		if err != nil {
			return err
		}
		if grown := info.Size() != size; grown {
			size = info.Size()
			return fmt.Errorf("%d bytes", size)
		}
		turns, err = journal(s.journal)
		return err
	})
	return turns
}
