package proxy

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"turnwatch/validate"
)

// line is one message of a history.
type line struct{ role, text, call string }

// spelled writes a message in one of the ways in which clients do.
func (m line) spelled(r *rand.Rand) string {
	text, _ := json.Marshal(m.text)
	switch {
	case m.call != "" && r.IntN(2) == 0:
		return fmt.Sprintf(`{"role":%q,"content":%s,"tool_calls":[{"id":%q,"type":"function","function":{"name":"f","arguments":"{\"a\":1,\"b\":%d}"}}]}`, m.role, text, m.call, len(m.call))
	case m.call != "":
		return fmt.Sprintf(`{"tool_calls":[{"function":{"arguments":"{\"b\": %d, \"a\": 1}","name":"f"},"id":%q}], "content": %s, "reasoning_content":"hm","role":%q}`, len(m.call), m.call, text, m.role)
	case r.IntN(2) == 0:
		return fmt.Sprintf(`{"role":%q,"content":%s}`, m.role, text)
	}
	return fmt.Sprintf(`{ "content": [ {"text": %s, "type": "text"} ], "name": null, "role": %q }`, text, m.role)
}

// agent is a client in one conversation, and what is known of it.
type agent struct {
	client  uint64
	history []line
	id      string // the session it must be in; empty before the first turn
	root    string // whose branch it is, before the branch's first turn
	group   int    // of those that begin alike; 0 is alone
	left    int    // turns
}

// world plays agents against sessions. It counts the turns by what was special
// about them.
type world struct {
	t       *testing.T
	r       *rand.Rand
	s       *sessions
	now     time.Time
	agents  []*agent
	ids     map[string]*agent
	n       int
	special map[string]int
}

func newWorld(t *testing.T, cfg SessionConfig) *world {
	return &world{t: t, r: rand.New(rand.NewPCG(1, 2)), s: newSessions(cfg), now: time.Unix(1e9, 0), ids: make(map[string]*agent), special: make(map[string]int)}
}

func (w *world) text(role string) line {
	w.n++
	return line{role: role, text: fmt.Sprintf("%d: \"%s\"\n", w.n, strings.Repeat("é\\ ", w.r.IntN(4)))}
}

// find sends what the agent would send.
func (w *world) find(a *agent, failed, again bool, answer *line) (string, int) {
	w.t.Helper()
	var all []string
	for _, m := range a.history {
		all = append(all, m.spelled(w.r))
	}
	talk, err := new(validate.Request).Converse(w.s.seed, []byte(`{"messages":[`+strings.Join(all, ", ")+`]}`))
	if err != nil {
		w.t.Fatal(err)
	}
	v := &visit{talk: talk, client: a.client, failed: failed, again: again, now: w.now}
	if answer != nil {
		one, err := new(validate.Request).Converse(w.s.seed, []byte(`{"messages":[`+answer.spelled(w.r)+`]}`))
		if err != nil {
			w.t.Fatal(err)
		}
		v.said = []uint64{one.Turns[0].Own}
	}
	return w.s.find(v)
}

// turn makes one turn, perhaps more than once, and checks where it was put.
func (w *world) turn(a *agent) {
	w.t.Helper()
	a.history = append(a.history, w.text("user"))
	answer := w.text("assistant")
	if w.r.IntN(2) == 0 {
		answer = line{role: "assistant", text: "", call: fmt.Sprintf("call_%d", w.n)}
	}
	if a.group > 0 && len(a.history) == 1 {
		a.history[0] = line{role: "user", text: fmt.Sprintf("group %d", a.group)}
		if a.client > 0 { // of clients that differ, even the answers may be alike
			answer = line{role: "assistant", text: "hello"}
		}
	}
	alone := a.group == 0 || len(a.history) > 1
	for alone && w.r.IntN(10) == 0 {
		w.special["failed"]++
		w.check(a, true, false, nil)
	}
	w.check(a, false, false, &answer)
	switch {
	case w.r.IntN(20) == 0 && alone:
		w.special["repeated by the library"]++
		w.check(a, false, true, &answer)
	case w.r.IntN(20) == 0 && len(a.history) > 1:
		w.special["repeated"]++
		w.check(a, false, false, &answer)
	}
	a.history = append(a.history, answer)
}

func (w *world) check(a *agent, failed, again bool, answer *line) {
	w.t.Helper()
	id, n := w.find(a, failed, again, answer)
	answers := 0
	for _, m := range a.history {
		if m.role == "assistant" {
			answers++
		}
	}
	if n != 1+answers {
		w.t.Errorf("turn: got %d, want %d", n, 1+answers)
	}
	switch had := w.ids[id]; {
	case a.id != "":
		if id != a.id {
			w.t.Errorf("turn %d: got session %s, want %s", n, id, a.id)
		}
	case had != nil:
		w.t.Errorf("turn %d: got session %s, which is another's", n, id)
	case a.root != "" && !strings.HasPrefix(id, a.root+"."):
		w.t.Errorf("turn %d: got session %s, want a branch of %s", n, id, a.root)
	}
	a.id, w.ids[id] = id, a
}

// fork begins a branch: another question at an earlier point of the history.
func (w *world) fork(a *agent) *agent {
	at := 2 * (1 + w.r.IntN(len(a.history)/2-1)) // past the first question and answer
	root, _, _ := strings.Cut(a.id, ".")
	return &agent{client: a.client, history: append([]line(nil), a.history[:at]...), root: root, left: 1 + w.r.IntN(5)}
}

// play interleaves all agents' turns until none has any left.
func (w *world) play() (turns int) {
	for len(w.agents) > 0 && !w.t.Failed() {
		i := w.r.IntN(len(w.agents))
		a := w.agents[i]
		w.turn(a)
		turns++
		if a.left--; a.left <= 0 {
			w.agents[i] = w.agents[len(w.agents)-1]
			w.agents = w.agents[:len(w.agents)-1]
		}
		if len(a.history) >= 4 && w.r.IntN(15) == 0 {
			b := w.fork(a)
			if w.r.IntN(2) == 0 { // the history was edited: the first one ends
				a.left = min(a.left, 0)
				w.special["edited"]++
			} else {
				w.special["branched"]++
			}
			w.agents = append(w.agents, b)
		}
		if w.r.IntN(300) == 0 { // the first question was edited: nothing is left of what was
			w.agents = append(w.agents, &agent{client: a.client, left: 1 + w.r.IntN(5)})
			w.special["begun anew"]++
		}
	}
	return turns
}

// TestEveryTurnIsPutIntoTheRightSession: 1,000 sessions of 1 to 30 turns, all
// at the same time, many of them with the same beginning.
func TestEveryTurnIsPutIntoTheRightSession(t *testing.T) {
	w := newWorld(t, SessionConfig{})
	for i := range 1000 {
		a := &agent{left: 1 + w.r.IntN(30)}
		switch {
		case i < 200: // ten begin alike, from as many clients
			a.group, a.client = 1+i/10, uint64(1+i%10)
		case i < 400: // ten begin alike, from one client
			a.group = 1 + i/10
		case i < 700:
			a.client = uint64(i)
		}
		w.agents = append(w.agents, a)
	}
	turns := w.play()
	t.Logf("%d turns in %d sessions, among them %v", turns, len(w.ids), w.special)
	for _, what := range []string{"failed", "repeated", "repeated by the library", "edited", "branched", "begun anew"} {
		if w.special[what] < 10 {
			t.Errorf("%s: got %d turns, want some", what, w.special[what])
		}
	}
}

// TestSessionsAreForgotten when there are too many and when they are old.
func TestSessionsAreForgotten(t *testing.T) {
	w := newWorld(t, SessionConfig{Turns: 100, Idle: time.Minute})
	for range 2000 {
		w.turn(&agent{client: w.r.Uint64()})
	}
	if n := len(w.s.places); n > 100 || w.s.claims > 100 || w.s.latest.Len() != n {
		t.Errorf("remembered: got %d places, %d claims and %d in line, want at most 100 of each", n, w.s.claims, w.s.latest.Len())
	}
	for i := range 2000 { // at one place
		w.find(&agent{client: uint64(i), history: []line{{role: "user", text: "hello"}}}, false, false, nil)
	}
	if w.s.claims > 100 {
		t.Errorf("remembered: got %d claims, want at most 100", w.s.claims)
	}
	w.now = w.now.Add(time.Hour)
	a := &agent{}
	w.turn(a)
	if n := len(w.s.places); n != 1 {
		t.Errorf("remembered after an hour: got %d places, want 1", n)
	}
	w.now = w.now.Add(30 * time.Second)
	w.turn(a)
	w.now = w.now.Add(50 * time.Second)
	w.turn(a) // idle counts from the last turn
}

// TestSessionsHoldLittleMemory: some hundred bytes a turn.
func TestSessionsHoldLittleMemory(t *testing.T) {
	s := newSessions(SessionConfig{Turns: 20000})
	before := heap()
	talk := validate.Conversation{Turns: make([]validate.Message, 2)}
	for i := range 60000 {
		for j := range talk.Turns {
			talk.Turns[j] = validate.Message{Own: uint64(i*2 + j), Link: maphash.Comparable(s.seed, i*2+j)}
		}
		s.find(&visit{talk: &talk, client: uint64(i), said: []uint64{uint64(i)}, now: time.Unix(1e9, 0)})
	}
	got := int64(heap()-before) / 20000
	t.Logf("%d bytes a turn", got)
	if got > 1000 {
		t.Errorf("memory: got %d bytes a turn, want at most 1000", got)
	}
	if len(s.places) != 20000 {
		t.Errorf("places: got %d, want 20000", len(s.places))
	}
}

// TestNamedSessionsCountTheirTurns, retries once.
func TestNamedSessionsCountTheirTurns(t *testing.T) {
	s := newSessions(SessionConfig{})
	f := func(name, text string, want int) {
		t.Helper()
		v := &visit{name: name, now: time.Unix(1e9, 0)}
		if text != "" {
			talk, err := new(validate.Request).Converse(s.seed, []byte(`{"messages":[`+text+`]}`))
			if err != nil {
				t.Fatal(err)
			}
			v.talk = talk
		}
		if id, n := s.find(v); id != name || n != want {
			t.Errorf("%s: got %s, %d, want %s, %d", text, id, n, name, want)
		}
	}
	const u, u2, a = `{"role":"user","content":"u"}`, `{"role":"user","content":"u2"}`, `{"role":"assistant","content":"a"}`
	f("one", u, 1)
	f("one", u, 1)
	f("two", u, 1)
	f("one", u+","+a+","+u2, 2)
	f("one", u2, 3) // the history was compacted
	f("one", u+","+a+","+u2, 2)
	f("one", "", 4) // a request that could not be read
	f("late", u+","+a+","+u2, 2)
	f("unread", "", 1)
	f("unread", "", 2)
}

// TestTurnWithoutAConversationHasNoSession.
func TestTurnWithoutAConversationHasNoSession(t *testing.T) {
	s := newSessions(SessionConfig{})
	if id, n := s.find(&visit{talk: &validate.Conversation{}, now: time.Now()}); id != "" || n != 0 {
		t.Errorf("got %s, %d, want none", id, n)
	}
}

// TestSessionsMayBeFoundAtOnce by many.
func TestSessionsMayBeFoundAtOnce(t *testing.T) {
	s := newSessions(SessionConfig{Turns: 50})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			var talk validate.Conversation
			for n := 1; n <= 200; n++ {
				link := maphash.Comparable(s.seed, [2]int{i, n})
				talk.Turns = append(talk.Turns, validate.Message{Own: link, Link: link, Answers: n - 1})
				talk.Answers = n - 1
				got, at := s.find(&visit{talk: &talk, client: uint64(i), now: time.Unix(1e9, 0)})
				if got == "" || at != n {
					t.Errorf("turn %d: got %q, %d", n, got, at)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkFindSession finds a turn's session among 10,000: what it costs the
// finisher, for a conversation of 400 messages.
func BenchmarkFindSession(b *testing.B) {
	s := newSessions(SessionConfig{})
	for i := range 10000 {
		s.find(&visit{talk: &validate.Conversation{Turns: []validate.Message{{Own: 1, Link: rand.Uint64()}}}, client: uint64(i), now: time.Unix(1e9, 0)})
	}
	talk := validate.Conversation{Turns: make([]validate.Message, 400)}
	for i := range talk.Turns {
		talk.Turns[i] = validate.Message{Own: rand.Uint64(), Link: rand.Uint64(), Answers: i / 2}
	}
	b.ReportAllocs()
	for b.Loop() {
		talk.Turns[399].Link++
		s.find(&visit{talk: &talk, now: time.Unix(1e9, 0)})
	}
}

// heap is what is in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
