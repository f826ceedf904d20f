package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"turnwatch/proxy"
	"turnwatch/proxy/pairs"
	"turnwatch/proxy/sglang"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate/agents"
)

// mirrored is a relay whose requests other arms get, too, and what comes of it.
type mirrored struct {
	*relay
	t      *testing.T
	client http.Client
	bell   *bell
	book   *pairs.Book

	// guarded by bell.mu
	pairs []turn.Pair
}

// mirrors starts one in front of a live server.
func mirrors(t *testing.T, live string, cfg proxy.Config, sinks ...proxy.Sink) *mirrored {
	t.Helper()
	m := &mirrored{t: t, bell: newBell(), book: pairs.NewBook(pairs.Limits{})}
	cfg.Upstream, cfg.Shadow.Pair = live, func(p *turn.Pair) { m.bell.change(func() { m.pairs = append(m.pairs, *p) }) }
	if cfg.Shadow.Book == nil {
		cfg.Shadow.Book = m.book
	}
	m.book = cfg.Shadow.Book
	if cfg.Shadow.Ratio == 0 {
		cfg.Shadow.Ratio = 1
	}
	m.relay = startOn(t, "tcp", cfg, sinks...)
	m.client = http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
	t.Cleanup(m.client.CloseIdleConnections)
	return m
}

// tagged is an arm with its own tags, as its server tells them.
func tagged(t *testing.T, name turn.Arm, url string) proxy.ShadowArm {
	t.Helper()
	return proxy.ShadowArm{Arm: name, URL: url, Tags: tagsOf(t, url)}
}

func tagsOf(t *testing.T, url string) func() proxy.TurnTags {
	t.Helper()
	g, err := sglang.New(sglang.Config{Upstream: url, NoPoll: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { g.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return func() proxy.TurnTags { return g.Begin() }
}

// simulator starts a server.
func simulator(t *testing.T, cfg sglangtest.Config) *sglangtest.Server {
	t.Helper()
	s := sglangtest.NewServer(cfg)
	t.Cleanup(s.Close)
	return s
}

// ask sends a turn of a session and returns the answer.
func (m *mirrored) ask(s *agents.Session, n int) (string, error) {
	req, err := http.NewRequest("POST", "http://"+m.addr+"/v1/chat/completions", bytes.NewReader(s.Request(n, agents.Options{Model: "m", Stream: n%2 == 1})))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Id", s.ID)
	req.Header.Set("Authorization", "Bearer of-the-client")
	resp, err := m.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// play plays sessions, so many at a time, and returns how many turns there were.
func (m *mirrored) play(seed uint64, sessions, together int) int {
	m.t.Helper()
	var next, turns atomic.Int64
	var wg sync.WaitGroup
	for range together {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(sessions); i = next.Add(1) {
				s := agents.NewSession(seed + uint64(i))
				for n := 1; n <= s.Turns(); n++ {
					turns.Add(1)
					if _, err := m.ask(s, n); err != nil && !m.down.Load() {
						m.t.Errorf("turn %d of %s: %v", n, s.ID, err)
					}
				}
			}
		})
	}
	wg.Wait()
	return int(turns.Load())
}

// await waits until there are n pairs.
func (m *mirrored) await(n int) {
	m.t.Helper()
	if !m.bell.await(patience, func() bool { return len(m.pairs) >= n }) {
		m.t.Fatalf("pairs: got %d, want %d", len(m.pairs), n)
	}
}

// tally is what became of requests in an arm, by the metrics.
type armTally struct{ offered, paired, dropped, failed float64 }

func (m *mirrored) arm(name turn.Arm) (a armTally) {
	for _, x := range m.ShadowMetrics() {
		for _, s := range x.Series {
			if len(s.Labels) == 0 || s.Labels[0].Value != string(name) {
				continue
			}
			switch x.Name {
			case "turnwatch_shadow_offered_total":
				a.offered += s.Value
			case "turnwatch_shadow_paired_total":
				a.paired += s.Value
			case "turnwatch_shadow_dropped_total":
				a.dropped += s.Value
			case "turnwatch_shadow_failed_total":
				a.failed += s.Value
			}
		}
	}
	return a
}

// why counts requests of an arm by state and reason, as the pairs have it.
func (m *mirrored) why(name turn.Arm) map[string]int {
	m.bell.mu.Lock()
	defer m.bell.mu.Unlock()
	all := map[string]int{}
	for i := range m.pairs {
		if s := m.pairs[i].Side(name); s != nil {
			all[fmt.Sprint(s.State, " ", s.Why)]++
		}
	}
	return all
}

// balanced fails unless every request that the arm was offered is accounted for.
func (m *mirrored) balanced(name turn.Arm, offered int) {
	m.t.Helper()
	a := m.arm(name)
	if a.offered != float64(offered) || a.offered != a.paired+a.dropped+a.failed {
		m.t.Errorf("%s: got %+v, %v, want %d offered, and the rest to add up to that", name, a, m.why(name), offered)
	}
}

func TestShadowPairsEveryRequest(t *testing.T) {
	live := simulator(t, sglangtest.Config{Plugin: true})
	control := simulator(t, sglangtest.Config{Plugin: true})
	candidate := simulator(t, sglangtest.Config{Plugin: true, IndexDtype: "fp8"})
	seen := newRecorder()
	m := mirrors(t, live.URL, proxy.Config{Tags: tagsOf(t, live.URL), Shadow: proxy.ShadowConfig{
		Arms: []proxy.ShadowArm{tagged(t, turn.Control, control.URL), tagged(t, turn.Candidate, candidate.URL)}}}, seen)
	n := m.play(1, 12, 4)
	m.await(n)
	m.balanced(turn.Control, n)
	m.balanced(turn.Candidate, n)
	if a := m.arm(turn.Candidate); a.paired != float64(n) {
		t.Errorf("candidate: got %+v, %v, want all of %d paired", a, m.why(turn.Candidate), n)
	}
	for _, p := range m.pairs {
		x := p.Twin(turn.Control, turn.Candidate)
		if len(p.Pairs) != 3 || x == nil || x.Outcome != turn.BothClean || !x.Names || !x.Args || x.FirstDiff != -1 || !x.Prompt || !x.Finish {
			t.Errorf("pair: got %s", p.AppendJSON(nil))
		}
		l, c := p.Side(turn.Live), p.Side(turn.Candidate)
		if p.Session == "" || p.Number == 0 || l.Body == "" || l.Body != c.Body || l.Print == "" || l.Print == c.Print || c.Batch < 1 || c.Tokens < 1 {
			t.Errorf("sides: got %s", p.AppendJSON(nil))
		}
	}
	r := m.book.Report()
	if len(r.Current) != 1 || r.Current[0].Corrupted.Pairs != n || r.Current[0].Corrupted.Clean != n {
		t.Errorf("report: got %+v, want one comparison of %d clean pairs", r, n)
	}
	emptied(t, m.Stats())
}
