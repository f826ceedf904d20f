package stress

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/leaktest"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
	"turnwatch/validate/agents"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// play runs a load against a simulated server and returns its turns.
func play(t *testing.T, cfg sglangtest.Config, l Load) (*Result, []*Turn, *sglangtest.Server) {
	t.Helper()
	s := sglangtest.NewServer(cfg)
	t.Cleanup(s.Close)
	var turns []*Turn
	l.Targets = []Target{{URL: s.URL, NoPoll: true}}
	if l.Concurrency == nil {
		l.Concurrency = []int{1}
	}
	l.Turned = func(u *Turn) { turns = append(turns, u) }
	res, err := Run(context.Background(), l)
	if err != nil {
		t.Fatal(err)
	}
	return res, turns, s
}

func TestRightModelIsNeverWrong(t *testing.T) {
	for _, parser := range []string{"deepseekv4", "qwen25", "kimi_k2", "glm45"} {
		last := 0
		res, turns, _ := play(t, sglangtest.Config{Parser: parser}, Load{Seed: 1, Sessions: 9, Concurrency: []int{4},
			Work:     Work{Shape: agents.Shape{Canary: true, Turns: 6, Long: 100}, Streamed: 0.7},
			Progress: func(done, total int) { last = done * 1000 / total }})
		if len(turns) != 54 || last != 1000 || res.Arms[0].Sessions != (Rate{0, 9}) || res.Arms[0].Turns != (Rate{0, 54}) {
			t.Fatalf("%s: %d turns, progress %d, %+v; want 54", parser, len(turns), last, res.Arms[0])
		}
		for _, u := range turns {
			if u.Err != nil || u.Wrong != nil || u.Class() != Right {
				t.Errorf("%s: %s: %v %v %v %v", parser, u.RequestID, u.Err, u.Wrong, u.Class(), u.Findings)
			}
		}
	}
}

func TestFaultsAreSeenByTheClient(t *testing.T) {
	f := func(fault string, want Class, wrong bool) {
		t.Helper()
		made, err := sglangtest.NewFault(fault, 1, 1, "deepseekv4")
		if err != nil {
			t.Fatal(err)
		}
		_, turns, _ := play(t, sglangtest.Config{Faults: []sglangtest.Fault{made}}, Load{Sessions: 1, Work: Work{Streamed: 1}})
		if u := turns[0]; u.Class() != want || (u.Wrong != nil) != wrong || (u.Err != nil) == wrong {
			t.Errorf("%s: %v (%s), wrong %v, error %v; want %v", fault, u.Class(), u.Outcome, u.Wrong, u.Err, want)
		}
	}
	f("altered", Corrupted, true)
	f("swallowed", Corrupted, true)
	f("null_name", Corrupted, true)
	f("cut", Truncated, false)
	f("error", Truncated, false)
	f("first_error", Failed, false)
	f("malformed_event", Corrupted, false)
}

func TestSessionsOverlap(t *testing.T) {
	res, _, s := play(t, sglangtest.Config{Step: time.Millisecond, Plugin: true}, Load{Sessions: 8, Concurrency: []int{4}, Work: Work{Streamed: 1}})
	if n := s.Counters().LargestBatch; n < 2 || n > 4 {
		t.Errorf("largest batch %d, want 2 to 4", n)
	}
	if n, _ := res.Arms[0].Largest(); n != s.Counters().LargestBatch || res.Arms[0].Sources["facts"] == 0 {
		t.Errorf("largest batch told: %d from %v, want %d from facts", n, res.Arms[0].Sources, s.Counters().LargestBatch)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	s := sglangtest.NewServer(sglangtest.Config{Step: time.Hour})
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		for end := time.Now().Add(time.Minute); s.Load().Running+s.Load().Waiting < 2 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
	}()
	res, err := Run(ctx, Load{Targets: []Target{{URL: s.URL}}, Sessions: 4, Concurrency: []int{2}})
	if err != nil || !res.Interrupted || res.Arms[0].Sessions.All != 0 || res.Arms[0].Cut != 2 {
		t.Errorf("got %+v, %v, want interrupted", res, err)
	}
}

// An answer is the same however its bytes were cut.
func TestCutsOfAnAnswerDoNotMatter(t *testing.T) {
	stream := ": hello\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"Grüße\",\"reasoning_content\":null,\"tool_calls\":null}}]}\n\n" +
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n" +
		"data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":null,\"arguments\":\"{\\\"a\\\": 1}\"}}]}}]}\n\n" +
		"data: {\"choices\":[],\"usage\":{}}\n\ndata: [DONE]\n\n"
	for size := 1; size <= len(stream); size++ {
		r := reader{stream: true}
		for piece := range slices.Chunk([]byte(stream), size) {
			r.feed(piece)
		}
		a, err := r.end()
		if err != nil || a.Text != "Grüße" || len(a.Calls) != 1 || a.Calls[0] != (agents.Call{Name: "f", Arguments: `{"a": 1}`}) || r.events != 3 {
			t.Fatalf("pieces of %d: %+v, %d events, %v", size, a, r.events, err)
		}
	}
}

func TestAnswersThatCannotBeRead(t *testing.T) {
	f := func(stream bool, body, want string) {
		t.Helper()
		r := reader{stream: stream}
		r.feed([]byte(body))
		if _, err := r.end(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
	f(true, "data: {\"choices\n\ndata: [DONE]\n\n", "no JSON")
	f(true, "data: {\"error\":{\"message\":\"no\"}}\n\ndata: [DONE]\n\n", `server: {"message":"no"}`)
	f(true, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":4}]}}]}\n\n", "call 4 after 0 calls")
	f(false, "<html>", "no JSON: <html>")
}

func TestStreamThatEndsEarlyIsAnError(t *testing.T) {
	f := func(stream string, ok bool) {
		t.Helper()
		r := reader{stream: true}
		r.feed([]byte(stream))
		if _, err := r.end(); (err == nil) != ok {
			t.Errorf("%q: got %v", stream, err)
		}
	}
	f("data: {}\n\ndata: [DONE]\n\n", true)
	f("data: {}\n\n", false)
	f("", false)
}

func TestCountGroupsBySession(t *testing.T) {
	mk := func(session, id string, o validate.Outcome) *turn.Turn {
		return &turn.Turn{Session: session, RequestID: id, Verdict: validate.Verdict{Outcome: o}}
	}
	turns := []*turn.Turn{
		mk("", "a-1-1", validate.Clean), mk("", "a-1-2", validate.Corrupted), mk("", "a-1-3", validate.Corrupted),
		mk("", "a-2-1", validate.Clean), mk("", "a-2-2", validate.Truncated),
		mk("named", "x", validate.Clean), mk("", "a-3-1", validate.Unverified),
	}
	got, err := Count(func(yield func(*turn.Turn, error) bool) {
		for _, u := range turns {
			if !yield(u, nil) {
				return
			}
		}
	})
	if err != nil || got.Sessions != (Rate{1, 3}) || got.Turns != (Rate{2, 6}) || !slices.Equal(got.Corrupted, turns[1:3]) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got.Outcomes[validate.Unverified] != 1 || got.Outcomes[validate.Clean] != 3 {
		t.Errorf("outcomes %v", got.Outcomes)
	}
}

func TestLine(t *testing.T) {
	f := func(r Rate, want string) {
		t.Helper()
		if got := r.Line("sessions"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(Rate{6, 40}, "CORRUPTION sessions: 6/40 = 15.0%  [7.1%, 29.1%]")
	f(Rate{2, 40}, "CORRUPTION sessions: 2/40 = 5.0%  [1.4%, 16.5%]")
	f(Rate{0, 40}, "CORRUPTION sessions: 0/40 = 0.0%  [0.0%, 8.8%]")
	f(Rate{0, 0}, "CORRUPTION sessions: 0/0 = 0.0%  [0.0%, 100.0%]")
}
