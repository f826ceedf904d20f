package second_test

import (
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"turnwatch/proxy/second"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// faulty is a server on which a fault of the catalogue strikes a share of turns.
func faulty(t *testing.T, name string, share float64) sglangtest.Config {
	t.Helper()
	f, err := sglangtest.NewFault(name, share, 3, "deepseekv4")
	if err != nil {
		t.Fatal(err)
	}
	return sglangtest.Config{Faults: []sglangtest.Fault{f}}
}

// played is how many turns TestSwappedTokensAreTheServers plays.
var played = flag.Int("turns", 250, "turns that are played")

// TestSwappedTokensAreTheServers: of turns in whose decode tokens were swapped at least 99% are
// told, with the token, and none in which none was.
func TestSwappedTokensAreTheServers(t *testing.T) {
	turns := *played
	s := start(t, plan{sim: faulty(t, "swapped", 0.5), asker: second.Config{Control: 1}})
	s.play(turns, 11, 0)
	all, truth := s.judged(turns)
	right, planted := 0, 0
	for i, o := range all {
		if truth[i] >= 0 {
			planted++
		}
		switch {
		case truth[i] >= 0 && o.Word == "server" && o.Onset == truth[i], truth[i] < 0 && o.Word == "model":
			right++
		case truth[i] < 0 && o.Word == "server":
			t.Errorf("a sound turn: got %+v", o)
		}
		if o.Start != 0 || o.Cached != 0 || o.Cache != "none" || o.By != "scores" || o.Server != "live" {
			t.Errorf("asked of the live server: got %+v", o)
		}
	}
	t.Logf("%d of %d right, %d planted: %v", right, turns, planted, words(all))
	if planted < turns/4 || right < turns*99/100 {
		t.Errorf("got %d right of %d, %d planted, want 99%%: %v", right, turns, planted, words(all))
	}
}

// TestSoundTurnsAreNotTheServers, whatever the temperature, and however their text is cut into tokens.
func TestSoundTurnsAreNotTheServers(t *testing.T) {
	const turns = 30
	f := func(name, fault string, temperature, model float64) {
		t.Run(name, func(t *testing.T) {
			s := start(t, plan{sim: faulty(t, fault, 1), asker: second.Config{Control: 1}})
			s.play(turns, 5, temperature)
			all, _ := s.judged(turns)
			t.Logf("%v", words(all))
			if has(all, "server") || float64(words(all)["model "]) < model*turns {
				t.Errorf("got %v, want no server and %g%% model", words(all), 100*model)
			}
		})
	}
	f("the model's own mistakes", "mistake", 0, 0.99)
	f("mistakes at 0.7", "mistake", 0.7, 0.99)
	f("mistakes at 1", "mistake", 1, 0.99)
	f("other tokens", "retokenised", 0, 0)
	f("other tokens at 1", "retokenised", 1, 0)
}

// TestHotTurnsAreToldWhereSamplingAllows: above temperature 0 less is certain, and what is told is right.
func TestHotTurnsAreToldWhereSamplingAllows(t *testing.T) {
	const turns = 60
	f := func(temperature float64, least int, extra string) {
		t.Helper()
		s := start(t, plan{sim: faulty(t, "swapped", 1), asker: second.Config{Control: 1}})
		s.extra = extra
		s.play(turns, 3, temperature)
		all, truth := s.judged(turns)
		told := 0
		for i, o := range all {
			switch {
			case o.Word == "server" && o.Onset == truth[i]:
				told++
			case o.Word == "server", o.Word == "model" && truth[i] >= 0:
				t.Errorf("at temperature %v: got %+v, swapped at %d", temperature, o, truth[i])
			}
		}
		t.Logf("at temperature %v %s: %v", temperature, extra, words(all))
		if told < least {
			t.Errorf("at temperature %v %s: got %d told of %d, want %d: %v", temperature, extra, told, turns, least, words(all))
		}
	}
	f(0.3, turns*95/100, "")
	f(0.7, turns/2, "")
	f(1, 0, "")
	f(1, turns*9/10, `"top_p":0.95`)
}

// TestDamagedPrefixCacheIsNotUsed: a server in whose cache the damage lies is asked past it.
func TestDamagedPrefixCacheIsNotUsed(t *testing.T) {
	const turns = 40
	sim := faulty(t, "swapped", 1)
	sim.Scorer.Damaged = true
	s := start(t, plan{sim: sim, asker: second.Config{Control: 1}})
	s.play(turns, 8, 0)
	all, _ := s.judged(turns)
	for _, o := range all {
		if o.Start != 0 || o.Cached != 0 || o.Cache != "none" {
			t.Errorf("got %+v, want one from token 0 and nothing cached", o)
		}
	}
	if n := words(all)["server "]; n < turns*9/10 {
		t.Errorf("got %v, want %d server", words(all), turns*9/10)
	}
}

// TestAnotherServerIsAskedFromTheAnswerOn, which knows nothing of what was swapped.
func TestAnotherServerIsAskedFromTheAnswerOn(t *testing.T) {
	const turns = 60
	s := start(t, plan{sim: faulty(t, "swapped", 1), scorer: &sglangtest.Config{DisableCUDAGraph: true}, asker: second.Config{Control: 1, Show: true}})
	s.play(turns, 2, 0)
	all, truth := s.judged(turns)
	for i, o := range all {
		if o.Server != "other" || o.Start < 1 || o.Cache == "possible" || truth[i] >= 0 && o.Word == "server" && (o.Token == nil || o.Instead == nil || o.Token.Text == o.Instead.Text) {
			t.Errorf("got %+v", o)
		}
	}
	if n := words(all)["server "]; n < turns*9/10 {
		t.Errorf("got %v, want %d server", words(all), turns*9/10)
	}
}

// TestPlaceIsTold: where a finding or a signal points to a token, the onset is at it or before.
func TestPlaceIsTold(t *testing.T) {
	const turns = 80
	s := start(t, plan{sim: faulty(t, "swapped", 1)})
	s.play(turns, 9, 0)
	if !s.await(func() bool { return len(s.turns) >= turns }) {
		t.Fatal("turns are missing")
	}
	flagged := 0
	for _, x := range s.turns {
		if x.Outcome == "corrupted" || x.Suspect {
			flagged++
		}
	}
	all, _ := s.judged(flagged)
	known := 0
	for _, o := range all {
		if o.Of != turn.Flagged {
			t.Errorf("got an opinion on a turn that is not flagged: %+v", o)
		}
		if o.Word == "server" && o.Place != turn.PlaceUnknown {
			known++
		}
		if o.Word == "server" && o.Place == turn.PlaceAfter {
			t.Errorf("the onset comes after what the turn is flagged for: %+v", o)
		}
	}
	if flagged < 10 || known < flagged/2 {
		t.Errorf("got %d flagged, %d with a place", flagged, known)
	}
}

// TestServerThatMisbehavesIsUnknown: one that lies, stalls, is busy, is not there, floods or has no calm
// moment, and the answers of clients are none the later and none the different.
func TestServerThatMisbehavesIsUnknown(t *testing.T) {
	const turns = 24
	sound := start(t, plan{sim: faulty(t, "swapped", 1)}).play(turns, 4, 0)
	f := func(name string, p plan, reasons ...string) {
		t.Run(name, func(t *testing.T) {
			p.sim = faulty(t, "swapped", 1)
			p.asker.Control = 1
			if p.scorer == nil {
				p.scorer = &sglangtest.Config{}
			}
			s := start(t, p)
			for i, got := range s.play(turns, 4, 0) {
				if len(got) == 0 || calls(got) != calls(sound[i]) {
					t.Errorf("answer %d: got another than without second opinions", i)
				}
			}
			all, _ := s.judged(turns)
			for _, o := range all {
				if o.Word != "unknown" || !slices.Contains(reasons, o.Reason) {
					t.Errorf("got %s %s, want unknown %v", o.Word, o.Reason, reasons)
				}
			}
		})
	}
	lie := func(l sglangtest.Lie) plan {
		return plan{scorer: &sglangtest.Config{Scorer: sglangtest.Scorer{Lie: l}}}
	}
	f("random numbers", lie(sglangtest.Random), "lies")
	f("other ids", lie(sglangtest.IDs), "lies")
	f("one fewer", lie(sglangtest.Short), "lies")
	f("no numbers", lie(sglangtest.Null), "lies")
	f("other places", lie(sglangtest.Shifted), "lies", "mismatch", "no_alternative", "between", "tokenisation")
	f("another model", plan{scorer: &sglangtest.Config{Script: func(*sglangtest.Request) *sglangtest.Answer {
		return &sglangtest.Answer{Deltas: []sglangtest.Delta{{Content: "Something else altogether, in other words and of another length."}}, Finish: "stop"}
	}}}, "mismatch", "no_alternative")
	f("stalls", plan{scorer: &sglangtest.Config{Scorer: sglangtest.Scorer{Stall: time.Hour}}, asker: second.Config{Timeout: 20 * time.Millisecond}}, "timeout")
	f("refuses", plan{scorer: &sglangtest.Config{Scorer: sglangtest.Scorer{Busy: true}}}, "refused")
	f("floods", plan{asker: second.Config{MaxAnswer: 1000}}, "too_large")
	busy := func(context.Context) (int, int, error) { return 64, 0, nil }
	f("is at work", plan{asker: second.Config{Load: busy, Patience: time.Millisecond}}, "busy")
	waits := func(context.Context) (int, int, error) { return 1, 1, nil }
	f("has a queue", plan{asker: second.Config{Load: waits, Patience: time.Millisecond}}, "busy")
	f("the relay is late", plan{asker: second.Config{Strained: func() bool { return true }, Patience: time.Millisecond}}, "busy")
}

// TestAnswerIsAsLongAsTheQuestionLetsIt: what a server tells of a few tokens is not read into memory
// as if it were of many.
func TestAnswerIsAsLongAsTheQuestionLetsIt(t *testing.T) {
	flood := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"meta_info":{"input_token_logprobs":[`+strings.Repeat(`[-0.1,1,"a"],`, 1<<18)+`[-0.1,1,"a"]]}}`)
	}))
	defer flood.Close()
	told := make(chan *turn.Opinion, 1)
	a, err := second.New(second.Config{URL: flood.URL, Tell: func(o *turn.Opinion) { told <- o }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(context.Background())
	a.Finish(&turn.Turn{ID: "t", Arm: turn.Live, Path: "/v1/chat/completions", Status: 200, Verdict: validate.Verdict{Outcome: validate.Corrupted},
		Tokens:  &turn.Tokens{Input: []int32{1, 2}, Output: []int32{3, 4}},
		Capture: &turn.Capture{Request: turn.Said{Body: []byte(`{"messages":[]}`)}}})
	select {
	case o := <-told:
		if o.Word != "unknown" || o.Reason != "too_large" {
			t.Errorf("got %s %s, want unknown too_large", o.Word, o.Reason)
		}
	case <-time.After(patience):
		t.Fatal("no opinion")
	}
}

// TestRequestWithEffectsIsNotReplayed: a tool that the server runs would run again.
func TestRequestWithEffectsIsNotReplayed(t *testing.T) {
	f := func(body, reason string, sent int64) {
		t.Helper()
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
		defer server.Close()
		told := make(chan *turn.Opinion, 1)
		idle := func(context.Context) (running, waiting int, err error) { return 0, 0, nil }
		a, err := second.New(second.Config{URL: server.URL, Replays: 1, Load: idle, Tell: func(o *turn.Opinion) { told <- o }})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close(context.Background())
		a.Finish(&turn.Turn{ID: "t", Arm: turn.Live, Path: "/v1/chat/completions", Status: 200, Verdict: validate.Verdict{Outcome: validate.Corrupted},
			Capture: &turn.Capture{Request: turn.Said{Body: []byte(body)}, Answer: turn.Said{Body: []byte("{}")}}})
		select {
		case o := <-told:
			if got := asked.Load(); o.Reason != reason || got != sent {
				t.Errorf("%s: got %s and %d requests, want %s and %d", body, o.Reason, got, reason, sent)
			}
		case <-time.After(patience):
			t.Fatal("no opinion")
		}
	}
	f(`{"temperature":0,"messages":[],"tools":[{"type":"function","function":{"name":"f"}}]}`, "unjudged", 1)
	f(`{"temperature":0,"messages":[],"tools":[{"type":"web_search"}]}`, "no_ids", 0)
	f(`{"temperature":0,"messages":[],"store":true}`, "no_ids", 0)
}

// calls is what an answer says, less what differs from one time to the next.
func calls(answer []byte) string {
	return string(regexp.MustCompile(`"(id|created)":("[^"]*"|\d+)`).ReplaceAll(answer, nil))
}

// TestStalledScorerHoldsNobodyUp: clients go on while a question hangs, what finds no room is
// dropped and counted, and the end does not wait.
func TestStalledScorerHoldsNobodyUp(t *testing.T) {
	const turns = 60
	s := start(t, plan{sim: faulty(t, "swapped", 1), scorer: &sglangtest.Config{Scorer: sglangtest.Scorer{Stall: time.Hour}},
		asker: second.Config{Control: 1, Rate: 1e6, Tokens: 1e9, Queue: 4, Timeout: time.Hour}})
	for _, a := range s.play(turns, 4, 0) {
		if len(a) == 0 {
			t.Error("a client got no answer")
		}
	}
	if !s.await(func() bool { return len(s.turns) == turns }) {
		t.Fatalf("turns: got %d, want %d", len(s.turns), turns)
	}
	s.asker.Close(t.Context())
	st := s.asker.Stats()
	if got := st.Dropped[second.DropQueue] + st.Dropped[second.DropClosed]; got != turns || st.Dropped[second.DropQueue] < turns-8 || st.Waiting != 0 {
		t.Errorf("of %d turns: got %+v dropped, %d waiting", turns, st.Dropped, st.Waiting)
	}
}

// TestWhatOpinionsCostIsBounded by rate, by tokens a minute and by the length of a turn.
func TestWhatOpinionsCostIsBounded(t *testing.T) {
	const turns = 20
	f := func(why second.Drop, asked int, c second.Config) {
		t.Helper()
		c.Control = 1
		s := start(t, plan{sim: sglangtest.Config{}, asker: c})
		s.play(turns, 4, 0)
		s.judged(asked)
		if !s.await(func() bool { return len(s.turns) == turns }) {
			t.Fatal("turns are missing")
		}
		if got := s.asker.Stats().Dropped[why]; got != int64(turns-asked) {
			t.Errorf("%s: got %d dropped, want %d", why, got, turns-asked)
		}
	}
	f(second.DropRate, 1, second.Config{Rate: 1, Tokens: 1e9}) // the next comes in a minute
	f(second.DropTokens, 1, second.Config{Rate: 1e6, Tokens: 1})
	f(second.DropTooLong, 0, second.Config{Rate: 1e6, Tokens: 1e9, MaxTokens: 5})
}

// TestNothingIsAskedOfCleanTurns where there is no control.
func TestNothingIsAskedOfCleanTurns(t *testing.T) {
	const turns = 20
	s := start(t, plan{})
	s.play(turns, 4, 0)
	if !s.await(func() bool { return len(s.turns) == turns }) {
		t.Fatal("turns are missing")
	}
	if got := s.sim.Counters().Scored; got != 0 || len(s.opinions) != 0 {
		t.Errorf("got %d questions, %d opinions", got, len(s.opinions))
	}
}

// TestReplaysSettleWhatHasNoIDs: the model's own mistakes come again, those of the server do not, and
// nothing is the server's that is not where the turn is flagged.
func TestReplaysSettleWhatHasNoIDs(t *testing.T) {
	const turns = 60
	once := func(name string, do func(*sglangtest.Answer)) sglangtest.Config {
		return sglangtest.Config{Faults: []sglangtest.Fault{{Name: name, Do: do, When: func(s sglangtest.State) bool { return s.Try == 0 }}}}
	}
	f := func(name string, sim sglangtest.Config, temperature float64, check func(t *testing.T, o turn.Opinion)) {
		t.Run(name, func(t *testing.T) {
			s := start(t, plan{sim: sim, noIDs: true, asker: second.Config{Control: 1, Replays: 3}})
			s.play(turns, 6, temperature)
			all, truth := s.judged(turns)
			for i, o := range all {
				if o.Word == "server" && (truth[i] < 0 || o.Of != turn.Flagged) {
					t.Errorf("got server on a sound turn, or on one of the control: %+v", o)
				}
				check(t, o)
			}
			t.Logf("%v", words(all))
		})
	}
	told := 0
	f("the server's", once("altered", sglangtest.Altered), 0, func(t *testing.T, o turn.Opinion) {
		if o.Word == "server" {
			told++
		}
		if o.Word == "model" && o.Suspect || o.By != "replays" || o.Replays != 3 {
			t.Errorf("got %+v", o)
		}
	})
	if told < turns/3 {
		t.Errorf("got %d server of %d", told, turns)
	}
	f("the model's", faulty(t, "mistake", 1), 0, func(t *testing.T, o turn.Opinion) {
		if o.Word != "model" || o.By != "replays" {
			t.Errorf("got %+v", o)
		}
	})
	f("sampled", sglangtest.Config{}, 0.7, func(t *testing.T, o turn.Opinion) {
		if o.Reason != "not_greedy" {
			t.Errorf("got %+v", o)
		}
	})
}

// TestManyMayCloseAtOnce: each returns, and what waits is counted once.
func TestManyMayCloseAtOnce(t *testing.T) {
	const rounds, closers, waiting = 400, 32, 60
	for range rounds {
		a, err := second.New(second.Config{URL: "http://127.0.0.1:1", Rate: 1e6, Tokens: 1e9, Queue: 64, Load: func(ctx context.Context) (int, int, error) { <-ctx.Done(); return 0, 0, ctx.Err() }})
		if err != nil {
			t.Fatal(err)
		}
		for range waiting {
			a.Finish(&turn.Turn{ID: "t", Arm: turn.Live, Path: "/v1/chat/completions", Status: 200, Verdict: validate.Verdict{Outcome: validate.Corrupted},
				Tokens: &turn.Tokens{Input: []int32{1, 2}, Output: []int32{3, 4}}, Capture: &turn.Capture{Request: turn.Said{Body: []byte(`{"messages":[]}`)}}})
		}
		closed := make(chan struct{}, closers)
		for range closers {
			go func() { a.Close(context.Background()); closed <- struct{}{} }()
		}
		for range closers {
			select {
			case <-closed:
			case <-time.After(patience):
				t.Fatal("a Close does not return")
			}
		}
		if got := a.Stats().Dropped[second.DropClosed]; got != waiting {
			t.Fatalf("dropped: got %d, want %d", got, waiting)
		}
	}
}
