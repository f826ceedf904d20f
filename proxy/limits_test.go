package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// says sends a streaming turn named id, of n bytes of text, and reads the answer.
func says(t *testing.T, p *relay, id string, n int) {
	t.Helper()
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+p.addr+"/v1/chat/completions",
		strings.NewReader(`{"model":"sim/DeepSeek-V4","stream":true,"messages":[{"role":"user","content":"`+strings.Repeat("Tell me about batches. ", n/23)+`"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", id)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
}

// TestMemoryForJudgingMayBeChanged, down and up again.
func TestMemoryForJudgingMayBeChanged(t *testing.T) {
	sim, seen := simulator(t, sglangtest.Config{}), newRecorder()
	p := startOn(t, "tcp", proxy.Config{Upstream: sim.URL}, seen)
	f := func(id string, memory int64, want validate.Outcome) {
		t.Helper()
		p.SetJudgeMemory(memory)
		says(t, p, id, 100)
		if got := seen.of(t, id); got.Outcome != want {
			t.Errorf("%s: got %s %s, want %s", id, got.Outcome, got.Reason, want)
		}
	}
	f("plenty", 256<<20, validate.Clean)
	f("little", 1, validate.Unverified)
	f("again", 256<<20, validate.Clean)
}

// TestOneBodyMayTakeAQuarterOfTheMemory: a larger one is not held, and counted.
func TestOneBodyMayTakeAQuarterOfTheMemory(t *testing.T) {
	sim, seen := simulator(t, sglangtest.Config{}), newRecorder()
	p := startOn(t, "tcp", proxy.Config{Upstream: sim.URL, JudgeMemory: 16 << 20}, seen)
	f := func(id string, size int, outcome validate.Outcome, why validate.Reason, counted int) {
		t.Helper()
		says(t, p, id, size)
		if got := seen.of(t, id); got.Outcome != outcome || got.Reason != why || dropped(p, turn.DropTooLarge) != counted {
			t.Errorf("%s: got %s %q, %d counted; want %s %q, %d", id, got.Outcome, got.Reason, dropped(p, turn.DropTooLarge), outcome, why, counted)
		}
	}
	f("nearly", 3<<20, validate.Clean, "", 0)
	f("more", 5<<20, validate.Unverified, validate.ReasonTooLarge, 1)
}

// TestLimitsOfShadowTrafficMayBeChanged, and nothing else of it.
func TestLimitsOfShadowTrafficMayBeChanged(t *testing.T) {
	live := simulator(t, sglangtest.Config{})
	m := mirrors(t, live.URL, proxy.Config{Shadow: proxy.ShadowConfig{Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: live.URL}}}})
	f := func(what string, change proxy.ShadowConfig, offered float64, dropped string) {
		t.Helper()
		change.Ratio = 1
		m.SetShadowLimits(change)
		before := m.arm(turn.Candidate).offered
		says(t, m.relay, what, 4000)
		for begin := time.Now(); m.arm(turn.Candidate).offered < before+offered && time.Since(begin) < patience; time.Sleep(time.Millisecond) {
		}
		m.await(int(m.arm(turn.Candidate).offered))
		if got := m.arm(turn.Candidate).offered - before; got != offered || dropped != "" && m.why(turn.Candidate)["dropped "+dropped] != 1 {
			t.Errorf("%s: got %v offered, %v, want %v and %q", what, got, m.why(turn.Candidate), offered, dropped)
		}
	}
	f("as it was", proxy.ShadowConfig{}, 1, "")
	f("a size", proxy.ShadowConfig{MaxBody: 1000}, 0, "")
	f("a short answer", proxy.ShadowConfig{MaxAnswer: 10}, 1, "")
	if got := m.why(turn.Candidate); got["failed too_large"] != 1 {
		t.Errorf("got %v, want an answer that is too large", got)
	}
	f("a batch", proxy.ShadowConfig{MaxAnswer: 32 << 20, MaxBatch: 1000}, 1, "") // of which nobody tells
	f("a rate", proxy.ShadowConfig{Rate: 1e-9}, 1, "")
	f("used up", proxy.ShadowConfig{Rate: 1e-9}, 1, "rate")
}

// TestRateOfProbesMayBeChanged: from none to some, and back.
func TestRateOfProbesMayBeChanged(t *testing.T) {
	sim, seen := simulator(t, sglangtest.Config{Step: time.Millisecond}), newRecorder()
	p := startOn(t, "tcp", proxy.Config{Upstream: sim.URL}, seen)
	if got := p.ProbeMetrics(); got != nil {
		t.Errorf("series before any was asked for: got %v", got)
	}
	stop := users(t, p, 3)
	defer stop()
	p.SetProbes(proxy.ProbeConfig{Rate: 1e6})
	if !seen.bell.await(patience, func() bool { return len(seen.probes()) >= 3 }) {
		t.Fatal("no probes came")
	}
	p.SetProbes(proxy.ProbeConfig{})
	more := func(n int) (probes int) { // after so many turns
		t.Helper()
		seen.bell.mu.Lock()
		n += len(seen.turns)
		seen.bell.mu.Unlock()
		if !seen.bell.await(patience, func() bool { return len(seen.turns) >= n }) {
			t.Fatal("no turns came")
		}
		seen.bell.mu.Lock()
		defer seen.bell.mu.Unlock()
		return len(seen.probes())
	}
	before := more(60) // with which what was under way is recorded
	if after := more(60); after != before {
		t.Errorf("got %d probes after they were switched off", after-before)
	}
}
