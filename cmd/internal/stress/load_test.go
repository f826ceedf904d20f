package stress

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"turnwatch/proxy/sglangtest"
	"turnwatch/validate"
	"turnwatch/validate/agents"
)

// streamed is work of which every turn streams.
var streamed = Work{Streamed: 1}

func TestTurnsAreLeftAndAskedForAgain(t *testing.T) {
	f := func(name string, a Abort, step time.Duration, wantAborts int, when string) {
		t.Helper()
		w := streamed
		w.Abort, w.Turns = a, 3
		res, turns, s := play(t, sglangtest.Config{Step: step}, Load{Sessions: 2, Concurrency: []int{2}, Work: w})
		aborts := 0
		for _, u := range turns {
			if u.Class() == Aborted {
				aborts++
				if u.Abort != when || u.Ending != validate.ClientGone || u.Answer != "" {
					t.Errorf("%s: %s: left in %q, ending %s, answer %q", name, u.RequestID, u.Abort, u.Ending, u.Answer)
				}
			}
		}
		a0 := res.Arms[0]
		if aborts != wantAborts || a0.Classes[Right]+a0.Classes[Aborted] != len(turns) || a0.Sessions.All+a0.Unjudged != 2 {
			t.Errorf("%s: %d of %d turns left, want %d; %+v", name, aborts, len(turns), wantAborts, a0)
		}
		if wantAborts > 0 {
			await(t, func() bool { return s.Counters().Aborted > 0 })
		}
	}
	f("after tokens", Abort{Share: 1, Tokens: 3, Retries: 2}, 5*time.Millisecond, 12, "decode")
	f("never", Abort{Share: 0, Tokens: 3}, 0, 0, "")
	f("without a retry", Abort{Share: 1, Tokens: 1}, 5*time.Millisecond, 6, "decode")
	f("in prefill, which is over", Abort{Share: 1, After: time.Hour, Prefill: true, Retries: 1}, 0, 0, "")
}

func TestTurnsAreLeftInPrefill(t *testing.T) {
	w := streamed
	w.Abort = Abort{Share: 1, After: time.Millisecond, Prefill: true, Retries: 1}
	_, turns, _ := play(t, sglangtest.Config{Prefill: time.Hour}, Load{Sessions: 1, Work: w, MaxRequests: 1})
	if len(turns) < 1 || turns[0].Abort != "prefill" || turns[0].Status != 0 {
		t.Fatalf("%d turns, the first left in %q", len(turns), turns[0].Abort)
	}
}

// await waits until something is so.
func await(t *testing.T, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came to be")
		}
	}
}

func TestFirstRequestsArePadded(t *testing.T) {
	w := streamed
	w.Align, w.Spread = 64, 1
	res, turns, _ := play(t, sglangtest.Config{}, Load{Sessions: 9, Concurrency: []int{3}, Work: w})
	if res.Aligned < 8 {
		t.Fatalf("%d sessions aligned, %d not", res.Aligned, res.Unaligned)
	}
	seen := map[string]int{}
	for _, u := range turns {
		at := u.Tags["load_align"].Value
		if u.Number != 1 || at == "" {
			continue
		}
		seen[at]++
		want := map[string]int64{"64-1": 63, "64+0": 0, "64+1": 1}[at]
		if got := u.Usage.PromptTokens % 64; got != want {
			t.Errorf("%s: %d tokens, %s", u.RequestID, u.Usage.PromptTokens, at)
		}
	}
	if len(seen) != 3 {
		t.Errorf("lengths %v, want three", seen)
	}
}

func TestCompanionsRunBesideAndAreNotCounted(t *testing.T) {
	churn := streamed
	churn.Name, churn.Abort = "churn", Abort{Share: 1, Tokens: 2}
	res, turns, _ := play(t, sglangtest.Config{Step: time.Millisecond}, Load{Sessions: 4, Concurrency: []int{2, 1}, Work: streamed,
		Companions: []Companion{{Work: churn, Concurrency: 3}}})
	if res.Of(0).Sessions != (Rate{0, 8}) || res.Of(0).Turns.All != 40 || res.Beside.Classes[Aborted] == 0 || res.Beside.Sessions.All != 0 {
		t.Errorf("counted %+v, beside %v", res.Of(0), res.Beside.Classes)
	}
	for _, u := range turns {
		if u.Counted == (u.Tags["load_group"].Value == "churn") {
			t.Errorf("%s: counted %v, group %v", u.RequestID, u.Counted, u.Tags["load_group"])
		}
	}
}

// targets starts two servers, and returns a load for both that notes its turns.
func targets(t *testing.T, cfg sglangtest.Config) (l Load, turns *[]*Turn) {
	a, b := sglangtest.NewServer(cfg), sglangtest.NewServer(cfg)
	t.Cleanup(a.Close)
	t.Cleanup(b.Close)
	turns = new([]*Turn)
	return Load{Targets: []Target{{URL: a.URL, NoPoll: true}, {URL: b.URL + "/v1/", NoPoll: true}}, Work: streamed,
		Turned: func(u *Turn) { *turns = append(*turns, u) }}, turns
}

func TestWavesShareNoBatch(t *testing.T) {
	l, turns := targets(t, sglangtest.Config{Step: time.Millisecond})
	l.Sessions, l.Concurrency, l.Waves = 9, []int{4}, true
	res, err := Run(context.Background(), l)
	if err != nil || res.Of(0).Sessions.All != 9 || res.Of(1).Sessions.All != 9 {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, a := range *turns {
		for _, b := range *turns {
			if a.Target == 0 && b.Target == 1 && a.Time.Before(end(b)) && b.Time.Before(end(a)) {
				t.Fatalf("%s on A and %s on B were under way together", a.RequestID, b.RequestID)
			}
		}
	}
}

func end(t *Turn) time.Time {
	return t.Time.Add(time.Duration(t.DurationMS * float64(time.Millisecond)))
}

func TestTargetsGoSideBySide(t *testing.T) {
	l, _ := targets(t, sglangtest.Config{})
	l.Sessions, l.Concurrency = 40, []int{2}
	var done [2]int
	l.Played = func(s *Session) string {
		done[s.Target]++
		if d := done[0] - done[1]; d > 8 || d < -8 {
			t.Errorf("%v sessions ended", done)
		}
		return ""
	}
	if _, err := Run(context.Background(), l); err != nil || done != [2]int{40, 40} {
		t.Errorf("%v sessions, %v", done, err)
	}
}

func TestLoadsAreBounded(t *testing.T) {
	f := func(l Load, want string) {
		t.Helper()
		l.Work = streamed
		res, turns, _ := play(t, sglangtest.Config{Step: time.Millisecond}, l)
		if !strings.Contains(res.Stopped, want) || res.Interrupted || len(turns) >= 5*l.Sessions {
			t.Errorf("stopped %q after %d turns, want %q", res.Stopped, len(turns), want)
		}
	}
	f(Load{Sessions: 20, MaxRequests: 7}, "-max-requests=7")
	f(Load{Sessions: 4000, MaxTime: 300 * time.Millisecond}, "-max-time=300ms")
	f(Load{Sessions: 400, Played: func(s *Session) string { return "enough" }}, "enough")
}

func TestAnswerThatTakesTooLongIsCutByUs(t *testing.T) {
	_, turns, _ := play(t, sglangtest.Config{Step: time.Hour}, Load{Sessions: 1, Work: Work{Streamed: 1, Shape: agents.Shape{Turns: 2}}, Timeout: 50 * time.Millisecond})
	if len(turns) != 2 || turns[0].Err != errLate || turns[0].Ending != validate.ProxyCut {
		t.Errorf("%d turns: %v, %s", len(turns), turns[0].Err, turns[0].Ending)
	}
}

func TestSkippedSessionsAreNotPlayed(t *testing.T) {
	_, turns, _ := play(t, sglangtest.Config{}, Load{Sessions: 6, Work: streamed, Session: "x-", Skip: func(n int) bool { return n != 4 }})
	if len(turns) != 5 || turns[0].Session != "x-session-0004" {
		t.Errorf("%d turns of %s", len(turns), turns[0].Session)
	}
}

func TestCanaryOfAnotherSessionIsCorruption(t *testing.T) {
	var mu sync.Mutex
	first := ""
	leak := func(r *sglangtest.Request) *sglangtest.Answer {
		mu.Lock()
		defer mu.Unlock()
		_, word, _ := strings.Cut(string(r.Body), "conversation is ")
		word, _, _ = strings.Cut(word, ".")
		if first == "" {
			first = word
		}
		if word == first {
			return nil
		}
		return &sglangtest.Answer{Deltas: []sglangtest.Delta{sglangtest.Text("The code is " + first + ", as you know.")}, Finish: "stop", Matched: 1}
	}
	_, turns, _ := play(t, sglangtest.Config{Script: leak}, Load{Sessions: 2, Work: Work{Streamed: 1, Shape: agents.Shape{Turns: 2, Canary: true}}})
	if len(turns) != 4 || turns[1].Class() != Right || turns[2].Class() != Corrupted || turns[2].Findings[0].Kind != validate.ForeignContent {
		t.Errorf("got %v and %v", turns[1].Class(), turns[2].Verdict)
	}
}

func TestBatchIsTakenOnlyFromTheServer(t *testing.T) {
	res, _, _ := play(t, sglangtest.Config{Step: time.Millisecond}, Load{Sessions: 6, Concurrency: []int{3}, Work: streamed})
	if n, _ := res.Arms[0].Largest(); n != 0 || res.Arms[0].Guessed < 2 {
		t.Errorf("batch %d from %v, own %d; a server that tells nothing", n, res.Arms[0].Sources, res.Arms[0].Guessed)
	}
	res, _, _ = play(t, sglangtest.Config{Plugin: true, Omit: []string{"facts"}}, Load{Sessions: 2, Work: streamed})
	if n, together := res.Arms[0].Largest(); n != 1 || together != 0 || res.Arms[0].Sources["header"] != 10 {
		t.Errorf("batch %d from %v", n, res.Arms[0].Sources)
	}
}

func TestLoadsThatCannotBe(t *testing.T) {
	f := func(l Load, want string) {
		t.Helper()
		if _, err := Run(context.Background(), l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	here := []Target{{URL: "http://127.0.0.1:1"}}
	f(Load{}, "0 targets")
	f(Load{Targets: here}, "-sessions")
	f(Load{Targets: here, Sessions: 1}, "-concurrency")
	f(Load{Targets: here, Sessions: 1, Concurrency: []int{0}}, "-concurrency")
	f(Load{Targets: here, Sessions: 1, Concurrency: []int{1}, Work: Work{Shape: agents.Shape{Turns: 1}}}, "-turns must be at least 2")
	f(Load{Targets: here, Sessions: 1, Concurrency: []int{1}, Work: Work{Words: -1}}, "must not be negative")
	f(Load{Targets: here, Sessions: 1, Concurrency: []int{1}, Work: Work{Abort: Abort{Retries: -1}}}, "must not be negative")
	f(Load{Targets: here, Sessions: 1, Concurrency: []int{1}, Companions: []Companion{{Work: Work{Abort: Abort{Prefill: true, Tokens: 1}}}}}, "exclude each other")
	f(Load{Targets: here, Sessions: 1, Concurrency: []int{1}}, "reach -target http://127.0.0.1:1: dial tcp")
	f(Load{Targets: []Target{{URL: "ftp://x"}}, Sessions: 1, Concurrency: []int{1}}, `target "ftp://x": must be http://`)
}

func TestServerThatIsGoneEndsTheLoad(t *testing.T) {
	made, err := sglangtest.NewFault("first_error", 1, 1, "deepseekv4")
	if err != nil {
		t.Fatal(err)
	}
	res, turns, _ := play(t, sglangtest.Config{Faults: []sglangtest.Fault{made}}, Load{Sessions: 400, Concurrency: []int{2}, Work: streamed})
	if res.Stopped != "the last 200 turns failed" || len(turns) > 210 {
		t.Errorf("stopped %q after %d turns", res.Stopped, len(turns))
	}
}

func TestTargetsThatSayTheSame(t *testing.T) {
	l, _ := targets(t, sglangtest.Config{})
	l.Sessions, l.Concurrency = 3, []int{2}
	res, err := Run(context.Background(), l)
	if err != nil || res.Same != 15 || res.Other != 0 || len(res.said) != 0 {
		t.Errorf("the same %d, other %d, waiting %d, %v", res.Same, res.Other, len(res.said), err)
	}
	altered, err := sglangtest.NewFault("altered", 1, 1, "deepseekv4")
	if err != nil {
		t.Fatal(err)
	}
	s := sglangtest.NewServer(sglangtest.Config{Faults: []sglangtest.Fault{altered}})
	defer s.Close()
	l.Targets[1].URL = s.URL
	if res, err = Run(context.Background(), l); err != nil || res.Same != 3 || res.Other != 12 {
		t.Errorf("the same %d, other %d, %v; want the texts and the calls", res.Same, res.Other, err)
	}
}

// chat answers as a server behind a relay that annotates does.
func chat(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/models" {
		fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"I would rather not.\"},\"finish_reason\":\"stop\"}]}\n\n"+
		"data: [DONE]\n\n: turnwatch {\"verdict\":\"corrupted\",\"kinds\":[],\"tags\":{\"batch\":\"7\"}}\n\n")
}

func TestSidecarInBetweenIsHeard(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(chat))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	l := Load{Targets: []Target{{URL: s.URL, NoPoll: true, TLS: s.Client().Transport.(*http.Transport).TLSClientConfig}}, Sessions: 1, Concurrency: []int{1}, Work: streamed}
	res, err := Run(context.Background(), l)
	if err != nil {
		t.Fatal(err)
	}
	a := res.Arms[0]
	if n, _ := a.Largest(); n != 7 || a.Differ != 5 || a.Classes[Wrong] != 5 || a.Sessions != (Rate{0, 1}) {
		t.Errorf("batch %d, other words %d, %v", n, a.Differ, a.Classes)
	}
	l.Targets[0].TLS = nil
	if _, err := Run(context.Background(), l); err == nil || !strings.Contains(err.Error(), "reach -target "+s.URL+": tls:") {
		t.Errorf("got %v", err)
	}
}
