package proxy

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// TestPanicOfTheRelayCostsOneExchange: its connection is closed, the next one is
// answered, and nothing of it is left.
func TestPanicOfTheRelayCostsOneExchange(t *testing.T) {
	s, err := New(Config{Upstream: "http://127.0.0.1:1", Capture: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s.budget = budget{} // turns are kept in nothing
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	ask := func(request string) (*http.Response, error) {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, request)
		return http.ReadResponse(bufio.NewReader(c), nil)
	}
	for _, more := range []string{"", "Expect: 100-continue\r\n"} {
		if got, err := ask("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + more + "Content-Length: 2\r\n\r\n{}"); err == nil {
			t.Errorf("%q: got %s, want a connection that is closed", more, got.Status)
		}
		if got, err := ask("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil || got.StatusCode != http.StatusBadGateway {
			t.Errorf("%q: the next one got %v, %v, want 502", more, got, err)
		}
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if got := s.stats.Streams.Load(); got != 0 {
		t.Errorf("got %d exchanges in progress, want 0", got)
	}
	<-served
}

// TestTurnOfABrokenExchangeIsLeftByNobody: it is counted, and its conversation is
// over for those that look for words of others.
func TestTurnOfABrokenExchangeIsLeftByNobody(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	s := &Server{log: slog.New(slog.DiscardHandler), strange: newStrangers()}
	s.budget = newBudget(1<<20, &s.stats.JudgeMemory)
	s.stats.Streams.Add(1)
	req, err := validate.NewSchemas(1<<20).ParseRequest("/v1/chat/completions", []byte(`{"model":"m","messages":[{"role":"user","content":"?"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	o := &observer{s: s, req: req, speaker: 7}
	s.strange.join(o.speaker, req, time.Now())
	x := &exchange{s: s, c: &clientConn{sock: near}, watch: o}
	x.broke("the test")
	if got := s.strange.open; got != 0 {
		t.Errorf("got %d conversations that are being answered, want 0", got)
	}
	if got := s.stats.dropped.counts()[string(turn.DropCheckerPanic)]; got != 1 {
		t.Errorf("counted: got %d, want 1", got)
	}
}

// TestPanicBehindTheVerdictCostsNoRecord: who is asked which turns to lend may break.
func TestPanicBehindTheVerdictCostsNoRecord(t *testing.T) {
	s := &Server{log: slog.New(slog.DiscardHandler), sessions: newSessions(SessionConfig{})}
	s.cfg.Capture, s.cfg.Lend = 1<<20, func(*turn.Turn) bool { panic("the test") }
	s.budget = newBudget(1<<20, &s.stats.JudgeMemory)
	seen := &recordOne{}
	f := &finisher{s: s, sinks: []Sink{seen}}
	o := &observer{s: s, t: turn.Turn{ID: "t", Arm: turn.Live}, kept: s.keep([]byte("GET / HTTP/1.1\r\n\r\n"))}
	f.judge(o)
	if seen.t.ID != "t" || seen.t.Reason != validate.ReasonNoAnswer {
		t.Errorf("got %q, %s, want the turn, unverified for want of an answer", seen.t.ID, seen.t.Reason)
	}
	if got := s.stats.JudgeMemory.Load(); got != 0 {
		t.Errorf("got %d bytes held, want 0", got)
	}
}

// TestPanicOfAnArmsProbeLetsTheNextOneGo: the arm is not left alone for ever.
func TestPanicOfAnArmsProbeLetsTheNextOneGo(t *testing.T) {
	a := &arm{sh: &shadow{log: slog.New(slog.DiscardHandler), ctx: context.Background()}, log: slog.New(slog.DiscardHandler)}
	a.sh.arms, a.health.log = []*arm{a}, a.log
	now := time.Now()
	for range patienceOfArm {
		a.health.bad(now, "the test")
	}
	later := now.Add(time.Hour)
	if ok, probe := a.health.admit(later); !ok || !probe {
		t.Fatalf("after an hour: got %t, %t, want a probe", ok, probe)
	}
	m := &mirror{sh: a.sh, ctx: context.Background(), left: 2, parts: make([]part, 2), effect: func() bool { panic("the test") }}
	m.users.Add(2)
	a.serve(job{m, 1, true})
	if ok, _ := a.health.admit(later); !ok {
		t.Error("no probe is let go any more")
	}
}

// TestPanicOfAPairIsLogged and left, wherever its last part comes from.
func TestPanicOfAPairIsLogged(t *testing.T) {
	var log strings.Builder
	sh := &shadow{log: slog.New(slog.NewTextHandler(&log, nil)), open: map[*mirror]struct{}{}}
	sh.arms = []*arm{{ShadowArm: &ShadowArm{Arm: turn.Candidate}}}
	ctx, cancel := context.WithCancel(context.Background())
	m := &mirror{sh: sh, ctx: ctx, cancel: cancel, left: 1, parts: make([]part, 2)} // without room for digests
	sh.enter(m)
	m.lost()
	if len(sh.open) != 0 || ctx.Err() == nil || !strings.Contains(log.String(), "pair") {
		t.Errorf("got %d pairs that are to come, %v, log %q; want none, an end and a line", len(sh.open), ctx.Err(), log.String())
	}
}

// TestPanicOfAProbeCostsThatAlone.
func TestPanicOfAProbeCostsThatAlone(t *testing.T) {
	s := &Server{log: slog.New(slog.DiscardHandler), schemas: validate.NewSchemas(1 << 20)}
	s.budget = newBudget(1<<20, &s.stats.JudgeMemory)
	s.up = &upstream{addr: "127.0.0.1:1"}
	p := newProber(s, ProbeConfig{Rate: 1})
	p.client = nil // which panics
	p.saw("m")
	p.probe(t.Context())
}
