package proxy_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// users keeps a server busy with clients until stop is called.
func users(t *testing.T, p *relay, n int) (stop func()) {
	t.Helper()
	transport, end := &http.Transport{}, make(chan struct{})
	client := &http.Client{Transport: transport, Timeout: patience}
	var work sync.WaitGroup
	for range n {
		work.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				resp, err := client.Post("http://"+p.addr+"/v1/chat/completions", "application/json",
					strings.NewReader(`{"model":"sim/DeepSeek-V4","stream":true,"messages":[{"role":"user","content":"Tell me about batches."}]}`))
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	return func() {
		close(end)
		work.Wait()
		transport.CloseIdleConnections()
	}
}

// probes are the recorded turns that are such.
func (r *recorder) probes() (all []turn.Turn) {
	for _, t := range r.turns {
		if t.Arm == turn.Probe {
			all = append(all, t)
		}
	}
	return all
}

// TestProbesTellTheTruthAboutProduction: among the turns of clients, with known
// answers, recorded as probes, right and wrong as the server made them.
func TestProbesTellTheTruthAboutProduction(t *testing.T) {
	const enough = 60
	sim := simulator(t, sglangtest.Config{Step: time.Millisecond, Faults: []sglangtest.Fault{{
		Name: "altered", Do: sglangtest.Altered,
		When: func(s sglangtest.State) bool { return !s.Stream && s.Batch > 1 && s.Step%3 == 0 },
	}}})
	seen := newRecorder()
	p := startOn(t, "tcp", proxy.Config{Upstream: sim.URL, Probe: proxy.ProbeConfig{Rate: 1e6}}, seen)
	stop := users(t, p, 3)
	if !seen.bell.await(patience, func() bool { return len(seen.probes()) >= enough }) {
		t.Fatalf("probes: got %d, want %d", len(seen.probes()), enough)
	}
	stop()
	var right, wrong, missed int
	seen.bell.mu.Lock()
	for _, x := range seen.probes() {
		switch {
		case !strings.HasPrefix(x.Session, "probe-") || x.Number == 0 || x.Model != "sim/DeepSeek-V4" || x.Path != "/v1/chat/completions":
			t.Errorf("probe: got %+v", x)
		case x.Answer == turn.Right && x.Outcome == validate.Clean:
			right++
		case x.Answer == turn.Right:
			t.Errorf("a right answer: got %s %v", x.Outcome, x.Findings)
		case x.Answer == turn.Wrong:
			if wrong++; x.Outcome != validate.Corrupted {
				missed++
			}
		}
	}
	seen.bell.mu.Unlock()
	if right == 0 || wrong == 0 {
		t.Errorf("probes: got %d right and %d wrong, want both", right, wrong)
	}
	for name, least := range map[string]float64{"turnwatch_probe_log10_e": 1.3, "turnwatch_probe_recall": 0.5} {
		if v := greatest(p.ProbeMetrics(), name); v < least {
			t.Errorf("%s: got %v, want at least %v: %d wrong answers, %d not told", name, v, least, wrong, missed)
		}
	}
}

func greatest(all []proxy.Metric, name string) (v float64) {
	for _, m := range all {
		for _, s := range m.Series {
			if m.Name == name {
				v = max(v, s.Value)
			}
		}
	}
	return v
}

// TestNoProbeIsSent where nobody is there and where none was asked for; where the
// server has more to do than it may, it waits.
func TestNoProbeIsSent(t *testing.T) {
	f := func(what string, cfg proxy.ProbeConfig, busy int, reason string) {
		t.Helper()
		sim := simulator(t, sglangtest.Config{Step: time.Millisecond})
		seen := newRecorder()
		p := startOn(t, "tcp", proxy.Config{Upstream: sim.URL, Probe: cfg}, seen)
		stop := users(t, p, busy)
		seen.bell.await(patience, func() bool { return len(seen.turns) >= 10*busy })
		for begin := time.Now(); reason != "" && skipped(p.ProbeMetrics(), reason) < 20 && time.Since(begin) < patience; {
			time.Sleep(time.Millisecond)
		}
		stop()
		seen.bell.mu.Lock()
		n := len(seen.probes())
		seen.bell.mu.Unlock()
		if reason != "busy" && n > 0 || reason != "" && skipped(p.ProbeMetrics(), reason) < 20 {
			t.Errorf("%s: got %d probes, and %v skipped", what, n, skipped(p.ProbeMetrics(), reason))
		}
	}
	f("nobody there", proxy.ProbeConfig{Rate: 1e6}, 0, "nobody_there")
	f("busy", proxy.ProbeConfig{Rate: 1e6, MaxStreams: 1}, 8, "busy")
	f("off", proxy.ProbeConfig{}, 2, "")
}

func skipped(all []proxy.Metric, reason string) float64 {
	for _, m := range all {
		for _, s := range m.Series {
			if m.Name == "turnwatch_probe_skipped_total" && s.Labels[0].Value == reason {
				return s.Value
			}
		}
	}
	return 0
}

// TestSinkThatBlocksOnAProbeDoesNotHoldShutdown for long.
func TestSinkThatBlocksOnAProbeDoesNotHoldShutdown(t *testing.T) {
	t.Parallel()
	sim := simulator(t, sglangtest.Config{Step: time.Millisecond})
	release, blocked := make(chan struct{}), make(chan struct{}, 1)
	p := startOn(t, "tcp", proxy.Config{Upstream: sim.URL, Probe: proxy.ProbeConfig{Rate: 1e6}}, sink(func(x *turn.Turn) {
		if x.Arm == turn.Probe {
			blocked <- struct{}{}
			<-release
		}
	}))
	stop := users(t, p, 2)
	<-blocked
	stop()
	down := make(chan error, 1)
	go func() { down <- p.Shutdown(context.Background()) }()
	select {
	case <-down:
		close(release)
	case <-time.After(patience):
		close(release)
		t.Errorf("Shutdown waited for the sink, and returned %v without it", <-down)
	}
}
