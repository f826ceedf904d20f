//go:build e2e

package report

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
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

// sidecar shows counters as turnwatch does.
type sidecar struct {
	*httptest.Server
	mu      sync.Mutex
	counts  map[string]float64 // sessions by verdict
	began   time.Time
	scraped int // since the last change
}

func newSidecar(t *testing.T) *sidecar {
	s := &sidecar{counts: map[string]float64{"clean": 0, "corrupted": 0}, began: time.Now()}
	s.Server = httptest.NewServer(s)
	s.Config.Handler = s
	t.Cleanup(s.Close)
	return s
}

func (s *sidecar) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scraped++
	fmt.Fprintf(w, "# TYPE %s gauge\n%s %d\n", familyStart, familyStart, s.began.Unix())
	for _, family := range []string{familyTurns, familySessions} {
		fmt.Fprintf(w, "# TYPE %s counter\n", family)
		for verdict, n := range s.counts {
			cause := map[string]string{"clean": "none", "corrupted": "unknown"}[verdict]
			fmt.Fprintf(w, `%s{gen_ai_request_model="m",turnwatch_arm="live",turnwatch_verdict="%s",turnwatch_cause="%s",turnwatch_suspect="false",turnwatch_batch_range="5-8",sglang_config_fingerprint="f1"} %g`+"\n",
				family, verdict, cause, n)
		}
	}
	fmt.Fprintf(w, "# TYPE %s gauge\n"+`%s{sglang_config_fingerprint="f1",sglang_config_index_dtype="bf16"} 1`+"\n", familyConfig, familyConfig)
}

// set changes the counters and waits until they were scraped.
func (s *sidecar) set(t *testing.T, clean, corrupted float64) {
	t.Helper()
	s.mu.Lock()
	s.change(t, clean, corrupted)
}

// restart begins the counters anew, and the sidecar with them: no scrape sees the one
// without the other.
func (s *sidecar) restart(t *testing.T, clean, corrupted float64) {
	t.Helper()
	s.mu.Lock()
	s.began = time.Now()
	s.change(t, clean, corrupted)
}

// change changes the counters, unlocks mu and waits until they were scraped.
func (s *sidecar) change(t *testing.T, clean, corrupted float64) {
	t.Helper()
	s.counts["clean"], s.counts["corrupted"], s.scraped = clean, corrupted, 0
	s.mu.Unlock()
	await(t, "a scrape", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.scraped >= 2
	})
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within three minutes", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// freePort returns an address that nobody listens at, on a port below those that the
// system gives to connections, one of which could have it before the program does.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		if ln, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(20_000))); err == nil {
			ln.Close()
			return ln.Addr().String()
		}
	}
	t.Fatal("no port is free from 10000 to 29999")
	return ""
}

// scrapers are the programs that are tried, with their flags.
var scrapers = []struct {
	name string
	args func(config, dir, addr string) []string
}{
	{"prometheus", func(config, dir, addr string) []string {
		return []string{"--config.file=" + config, "--storage.tsdb.path=" + dir, "--web.listen-address=" + addr}
	}},
	{"victoria-metrics", func(config, dir, addr string) []string {
		return []string{"-promscrape.config=" + config, "-storageDataPath=" + dir, "-httpListenAddr=" + addr, "-search.latencyOffset=0s", "-search.disableCache"}
	}},
}

// TestRealServers holds the report against what two sidecars really counted,
// across the restart of one.
func TestRealServers(t *testing.T) {
	for _, p := range scrapers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			a, b := newSidecar(t), newSidecar(t)
			since := time.Now().Add(-time.Minute)
			url := scrape(t, p.name, p.args, a, b)
			a.set(t, 10, 1)
			b.set(t, 20, 0)
			a.set(t, 30, 4)
			b.set(t, 40, 0)
			b.restart(t, 5, 2)
			a.set(t, 36, 5)
			want := Rate{Corrupted: 5 + 2, All: 36 + 5 + 40 + 5 + 2}
			var r *Report
			await(t, "right count", func() bool {
				s, err := ReadPrometheus(context.Background(), Prometheus{URL: url, Match: `job="turnwatch"`}, since, time.Now())
				if err != nil {
					return false
				}
				r = s.Make(Options{})
				return r.Sessions.Arm() == want.Arm()
			})
			if r.Turns.Arm() != want.Arm() || r.Source.Replicas != 2 || r.Tags[0].Levels[0].Turns.All == 0 || r.Batch[0].Value != "5-8" {
				t.Errorf("got turns %s of %d sidecars, tags %+v, batch %+v", r.Turns, r.Source.Replicas, r.Tags, r.Batch)
			}
		})
	}
}

// scrape starts a program that scrapes the sidecars, and returns its URL.
func scrape(t *testing.T, name string, args func(config, dir, addr string) []string, sidecars ...*sidecar) string {
	t.Helper()
	dir, addr := t.TempDir(), freePort(t)
	var targets []string
	for _, s := range sidecars {
		targets = append(targets, fmt.Sprintf("%q", strings.TrimPrefix(s.URL, "http://")))
	}
	config := filepath.Join(dir, "scrape.yaml")
	put(t, config, fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: turnwatch, metrics_path: /, static_configs: [{targets: [%s]}]}]\n", strings.Join(targets, ", ")))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	cmd := exec.CommandContext(ctx, name, args(config, filepath.Join(dir, "data"), addr)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
		log.Close()
		if t.Failed() {
			b, _ := os.ReadFile(log.Name())
			t.Logf("%s", b)
		}
	})
	return "http://" + addr
}
