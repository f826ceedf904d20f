package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"turnwatch/cmd/internal/report"
	"turnwatch/proxy"
	"turnwatch/proxy/journal"
	"turnwatch/proxy/sglang"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate/agents"
	"turnwatch/validate/stats"
)

// day is how many sessions the day in the life has. The full size is
//
//	go test ./cmd/turnreport -run Day -v -day 300
var day = flag.Int("day", 120, "sessions of the day in the life of an arm")

// patience is how long a test waits for what must come.
const patience = 90 * time.Second

// stand is a sidecar between a load and servers, which writes a journal.
type stand struct {
	t       *testing.T
	relay   *proxy.Server
	journal *journal.Writer
	path    string
	url     string
	played  atomic.Int64 // sessions
}

// newStand starts one with a control and a candidate.
func newStand(t *testing.T, live, control, candidate string) *stand {
	t.Helper()
	s := &stand{t: t, path: filepath.Join(t.TempDir(), "turns.jsonl")}
	var err error
	if s.journal, err = journal.Open(s.path, journal.Options{}); err != nil {
		t.Fatal(err)
	}
	arm := func(name turn.Arm, url string) proxy.ShadowArm {
		return proxy.ShadowArm{Arm: name, URL: url, Tags: s.tags(name, url)}
	}
	cfg := proxy.Config{Upstream: live, Tags: s.tags("", live), Shadow: proxy.ShadowConfig{Ratio: 1, Pair: s.journal.Pair, FirstByteTimeout: 5 * time.Second,
		Arms: []proxy.ShadowArm{arm(turn.Control, control), arm(turn.Candidate, candidate)}}}
	if s.relay, err = proxy.New(cfg, s.journal); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- s.relay.Serve(ln) }()
	t.Cleanup(func() { s.close(); <-served })
	return s
}

func (s *stand) close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.relay.Shutdown(ctx); err != nil {
		s.t.Error(err)
	}
	if err := s.journal.Close(ctx); err != nil {
		s.t.Error(err)
	}
}

// tags learns of a server, and tells the journal.
func (s *stand) tags(arm turn.Arm, url string) func() proxy.TurnTags {
	g, err := sglang.New(sglang.Config{Upstream: url, PollEvery: 50 * time.Millisecond})
	if err != nil {
		s.t.Fatal(err)
	}
	g.TellChanges(func(c *turn.ConfigChange) { c.Arm = arm; s.journal.Change(c) })
	g.TellRestarts(func(why string) {
		s.journal.Restart(&turn.Restart{V: turn.Version, Time: time.Now(), Arm: otherArm(arm), Why: why})
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { g.Run(ctx) })
	s.t.Cleanup(func() { cancel(); running.Wait() })
	return func() proxy.TurnTags { return g.Begin() }
}

// during plays sessions, in the middle of which something happens, and goes on until the
// journal says so.
func (s *stand) during(sessions int, happens func(), said ...string) {
	s.t.Helper()
	s.play(sessions / 2)
	var happen sync.WaitGroup
	happen.Go(happens)
	s.play(sessions - sessions/2)
	happen.Wait()
	for end := time.Now().Add(patience); !s.says(said); {
		if s.play(2); time.Now().After(end) {
			s.t.Fatalf("the journal says nothing of %q", said)
		}
	}
}

// says reports whether a line of the journal holds all of these.
func (s *stand) says(said []string) bool {
	text, err := os.ReadFile(s.path)
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !slices.ContainsFunc(said, func(part string) bool { return !strings.Contains(line, part) }) {
			return true
		}
	}
	return false
}

// play plays sessions, twelve at a time.
func (s *stand) play(sessions int) {
	s.t.Helper()
	const together = 12
	client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: together}}
	defer client.CloseIdleConnections()
	until := s.played.Load() + int64(sessions)
	var wg sync.WaitGroup
	for range together {
		wg.Go(func() {
			for i := s.played.Add(1); i <= until; i = s.played.Add(1) {
				a := agents.NewSession(uint64(i))
				for n := 1; n <= a.Turns(); n++ {
					if err := s.ask(&client, a, n); err != nil {
						s.t.Errorf("turn %d of %s: %v", n, a.ID, err)
					}
				}
			}
		})
	}
	wg.Wait()
	s.played.Store(until)
}

func (s *stand) ask(client *http.Client, a *agents.Session, n int) error {
	req, err := http.NewRequest("POST", s.url+"/v1/chat/completions", bytes.NewReader(a.Request(n, agents.Options{Model: "m", Stream: true})))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Id", a.ID)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// server is a simulated server that can be started anew.
type server struct {
	t    *testing.T
	addr string
	mu   sync.Mutex
	now  *sglangtest.Server
}

func startServer(t *testing.T, cfg sglangtest.Config) *server {
	t.Helper()
	s := &server{t: t, now: sglangtest.NewServer(cfg)}
	s.addr = strings.TrimPrefix(s.now.URL, "http://")
	t.Cleanup(func() { s.mu.Lock(); defer s.mu.Unlock(); s.now.Close() })
	return s
}

// again closes the server and starts it on the same address.
func (s *server) again(cfg sglangtest.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Close()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if ln, err := net.Listen("tcp", s.addr); err == nil {
			s.now = sglangtest.Start(ln, cfg)
			return
		} else if time.Now().After(end) {
			s.t.Error(err)
			return
		}
	}
}

// TestDayInTheLifeOfAnArm: sessions run interleaved, the candidate is started anew in the
// middle, and later gets a configuration that corrupts. The report names both and judges
// each period by itself.
func TestDayInTheLifeOfAnArm(t *testing.T) {
	const step = time.Millisecond
	plain := sglangtest.Config{Plugin: true, Step: step}
	bad := sglangtest.Config{Plugin: true, Step: step, IndexDtype: "fp8", Version: "0.5.19",
		Faults: []sglangtest.Fault{{Name: "bad_json", When: sglangtest.Rate(1, "bad_json", 0.2), Do: sglangtest.BadJSON}}}
	live, control, candidate := startServer(t, plain), startServer(t, plain), startServer(t, plain)
	s := newStand(t, live.now.URL, control.now.URL, candidate.now.URL)
	third := *day / 3
	s.during(third, func() { candidate.again(plain) }, `"type":"server_restart"`, `"arm":"candidate"`)
	s.during(third, func() { candidate.again(bad) }, `"type":"config_change"`, `"index_dtype":{"from":"bf16","to":"fp8"}`)
	s.play(third)
	s.close()

	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"shadow", "-margin", "0.05", s.path}, std{nil, &out, &errs}); code != report.ExitCorrupted {
		t.Errorf("exit: got %d, want %d: %s", code, report.ExitCorrupted, errs.String())
	}
	t.Logf("the report:\n%s", out.String())
	out.Reset()
	run(context.Background(), []string{"shadow", "-json", "-margin", "0.05", s.path}, std{nil, &out, &errs})
	var h history
	if err := json.Unmarshal(out.Bytes(), &h); err != nil {
		t.Fatal(err)
	}
	h.check(t)
}

// check finds both events and what the periods between them say.
func (h *history) check(t *testing.T) {
	t.Helper()
	found := map[string]time.Time{}
	for _, e := range h.Events {
		// A busy machine may make a server seem to have been away.
		if e.Arm == turn.Candidate && (e.What == "restart" || strings.Contains(e.Text, "index_dtype bf16 → fp8")) && found[e.What].IsZero() {
			found[e.What] = e.Time
		}
	}
	if found["restart"].IsZero() || found["config_change"].IsZero() {
		t.Fatalf("events: got %+v, want a restart and a config_change", h.Events)
	}
	for _, p := range h.Periods {
		paired := p.Report.Arms[turn.Candidate].Paired
		switch w := p.Report.Word; {
		case p.Until.Before(found["config_change"]) && w == stats.NotComparable && paired < 50: // it was away for most of it
		case p.Until.Before(found["config_change"]) && w != stats.Same && (w != stats.Undecided || paired > 300):
			t.Errorf("before the change: got %s: %s", w, p.Report.Text)
		case !p.From.Before(found["config_change"]) && paired > 150 && w != stats.Worse:
			t.Errorf("after the change: got %s: %s", w, p.Report.Text)
		}
	}
	if len(h.Periods) < 3 || len(h.Current) != 1 || len(h.Earlier) == 0 || h.Current[0].Word != stats.Worse {
		t.Errorf("got %d periods, %d comparisons now and %d earlier", len(h.Periods), len(h.Current), len(h.Earlier))
	}
	for arm, a := range h.Arms {
		n := a.Paired
		for _, m := range []map[string]int{a.Dropped, a.Failed} {
			for _, k := range m {
				n += k
			}
		}
		if n != a.Offered || a.Offered != h.Pairs {
			t.Errorf("%s: got %+v of %d, want it to add up", arm, a, h.Pairs)
		}
	}
}
