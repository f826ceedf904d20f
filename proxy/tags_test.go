package proxy_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// tags notes what it is told. The functions that are set are called first.
type tags struct {
	mu    sync.Mutex
	calls []string
	head  string
	data  string

	before func(call string)
	tag    func(t *turn.Turn, record func())
}

func (g *tags) note(call string) {
	g.mu.Lock()
	g.calls = append(g.calls, call)
	g.mu.Unlock()
	if g.before != nil {
		g.before(call)
	}
}

func (g *tags) Head(b []byte)              { g.head = string(b); g.note("head") }
func (g *tags) Data(p []byte, _ time.Time) { g.data += string(p); g.note("data") }
func (g *tags) End()                       { g.note("end") }
func (g *tags) Free()                      { g.note("free") }
func (g *tags) Tag(t *turn.Turn) (late func(record func())) {
	g.note("tag")
	if g.tag != nil {
		return func(record func()) { g.tag(t, record) }
	}
	t.Tags, t.Fingerprint = map[string]turn.Tag{"verdict": {Value: string(t.Outcome)}}, "f"
	return nil
}

func (g *tags) use() proxy.Config { return proxy.Config{Tags: func() proxy.TurnTags { return g }} }

// answered has one turn answered.
func answered(t *testing.T, up *upstream, p *relay) (head, body string) {
	t.Helper()
	h := "HTTP/1.1 200 OK\r\nX-Sglang-Rid: 7\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	whole := h + chunked("data: [DONE]\n\n", 5)
	c := p.dial()
	ask(up, c, post).send(whole)
	c.read(whole)
	c.close()
	return h, "data: [DONE]\n\n"
}

func TestTagsAreToldOfTheAnswer(t *testing.T) {
	up := listen(t, "tcp")
	g, seen := new(tags), newRecorder()
	p := start(t, up, g.use(), seen)
	h, body := answered(t, up, p)
	if err := p.Shutdown(t.Context()); err != nil || len(seen.turns) != 1 {
		t.Fatalf("got %d turns and %v, want 1 turn", len(seen.turns), err)
	}
	if g.head != h || g.data != body {
		t.Errorf("told: got %q and %q, want %q and %q", g.head, g.data, h, body)
	}
	if calls := slices.Compact(g.calls); !slices.Equal(calls, []string{"head", "data", "end", "tag", "free"}) {
		t.Errorf("calls: got %v", calls)
	}
	for _, got := range seen.turns {
		if got.Fingerprint != "f" || got.Tags["verdict"].Value != string(got.Outcome) || got.Outcome == "" {
			t.Errorf("turn: got %v, %q, outcome %q", got.Tags, got.Fingerprint, got.Outcome)
		}
	}
}

// TestTagsThatPanicCostNothingElse: the bytes pass and the turn is recorded.
func TestTagsThatPanicCostNothingElse(t *testing.T) {
	for _, at := range []string{"begin", "head", "data", "end", "tag"} {
		up := listen(t, "tcp")
		g, seen := &tags{before: func(call string) {
			if call == at {
				panic(at)
			}
		}}, newRecorder()
		answered(t, up, start(t, up, proxy.Config{Tags: func() proxy.TurnTags { g.note("begin"); return g }}, seen))
		if !seen.bell.await(patience, func() bool { return len(seen.turns) == 1 }) {
			t.Errorf("panic in %s: the turn was not recorded", at)
		}
		for _, got := range seen.turns {
			if got.Reason == validate.ReasonCheckerPanic {
				t.Errorf("panic in %s: the judge was blamed", at)
			}
		}
	}
}

// TestTagsThatWaitDelayNoClient: turns are recorded later, all of them, a
// Shutdown waits for them, and nobody takes anything back from them.
func TestTagsThatWaitDelayNoClient(t *testing.T) {
	const n = 40
	up := listen(t, "tcp")
	release := make(chan struct{})
	late := func(_ *turn.Turn, record func()) { go func() { <-release; record() }() }
	seen := newRecorder()
	var all []*tags // made by one turn after the other
	p := start(t, up, proxy.Config{Tags: func() proxy.TurnTags { all = append(all, &tags{tag: late}); return all[len(all)-1] }}, seen)
	for range n {
		answered(t, up, p)
	}
	stopped := make(chan error)
	go func() { stopped <- p.Shutdown(t.Context()) }()
	select {
	case err := <-stopped:
		t.Fatalf("Shutdown returned before the turns had their tags: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if err := <-stopped; err != nil {
		t.Errorf("Shutdown: got %v", err)
	}
	if got := len(seen.turns); got != n {
		t.Errorf("turns: got %d, want %d", got, n)
	}
	for _, g := range all {
		if slices.Contains(g.calls, "free") {
			t.Errorf("calls: got %v, want no free", g.calls)
		}
	}
}

// TestTurnWithoutAnAnswerIsTagged, though nothing was learned from a head.
func TestTurnWithoutAnAnswerIsTagged(t *testing.T) {
	up := listen(t, "tcp")
	g, seen := new(tags), newRecorder()
	p := start(t, up, g.use(), seen)
	c := p.dial()
	s := ask(up, c, post)
	s.close()
	c.until("HTTP/1.1 502")
	if err := p.Shutdown(t.Context()); err != nil || len(seen.turns) != 1 {
		t.Fatalf("got %d turns and %v, want 1 turn", len(seen.turns), err)
	}
	if got := fmt.Sprint(g.calls); got != "[end tag free]" {
		t.Errorf("calls: got %s", got)
	}
}

// TestTurnThatNoServerGotSaysWhatWasAsked: its record has all that its request
// tells, and no other reason for what could not be read of it.
func TestTurnThatNoServerGotSaysWhatWasAsked(t *testing.T) {
	url := dead(t)
	seen := newRecorder()
	p := startOn(t, "tcp", proxy.Config{Upstream: url}, seen)
	for _, tc := range []struct{ id, body, want string }{
		{"whole", `{"model":"m","stream":true,"messages":[{"role":"user","content":"Go on."}]}`, "m, true, whole#1"},
		{"torn", `{"model":"m"`, ", false, torn#1"},
	} {
		c := p.dial()
		c.send(head("POST /v1/chat/completions HTTP/1.1", "Host: x", "X-Request-Id: "+tc.id, "X-Session-Id: "+tc.id,
			fmt.Sprintf("Content-Length: %d", len(tc.body))) + tc.body)
		c.until("HTTP/1.1 502")
		got := seen.of(t, tc.id)
		if told := fmt.Sprintf("%s, %t, %s#%d", got.Model, got.Stream, got.Session, got.Number); told != tc.want {
			t.Errorf("%s: got %q, want %q", tc.id, told, tc.want)
		}
		if got.Outcome != validate.Unverified || got.Reason != validate.ReasonNoAnswer || got.Status != 502 {
			t.Errorf("%s: got %s, %s, status %d; want unverified, no_answer, 502", tc.id, got.Outcome, got.Reason, got.Status)
		}
	}
}
