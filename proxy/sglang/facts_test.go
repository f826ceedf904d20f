package sglang

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

const factsHead = "HTTP/1.1 200 OK\r\nx-sglang-rid: r1\r\nx-sglang-turn-facts: /turns\r\n\r\n"

const anyFacts = `{"rid":"r1","prompt_tokens":3,"completion_tokens":11,"cuda_graph":true,"retractions":1,"unknown":[1],
	"decode_runs":[{"first_step":5,"last_step":9,"batch":2,"bucket":2,"row":1},{"first_step":10,"last_step":14,"batch":3,"bucket":4}]}`

// after tags a turn whose head said where its facts are, and returns it once
// it is recorded, with how long that took.
func after(g *Tagger) (u *turn.Turn, took time.Duration) {
	w := g.Begin()
	w.Head([]byte(factsHead))
	w.End()
	u = &turn.Turn{Time: time.Now(), Status: 200, Ending: "complete"}
	begin := time.Now()
	recorded := make(chan struct{})
	tag(w, u, func() { close(recorded) })
	<-recorded
	return u, time.Since(begin)
}

func TestFactsAreAskedForAfterTheTurn(t *testing.T) {
	const route = "/turns/r1"
	f := func(name string, s server, took time.Duration, outcome, batch, bucket string) {
		t.Helper()
		bubble(t, Config{NoPoll: true}, s, func(t *testing.T, g *Tagger) {
			u, d := after(g)
			if d != took || g.Stats().Facts[outcome] != 1 {
				t.Errorf("%s: took %v, outcomes %v; want %v, %s", name, d, g.Stats().Facts, took, outcome)
			}
			got := u.Tags["batch"].Value + "/" + u.Tags["batch"].Source + " " + u.Tags["graph_bucket"].Value + "/" + u.Tags["graph_bucket"].Source
			if got != batch+" "+bucket {
				t.Errorf("%s: got %s", name, got)
			}
		})
	}
	own, none := "1/own", "/"
	f("good", server{route: always(anyFacts)}, 0, factsOK, "3/facts", "4/facts")
	begin := time.Time{}
	f("a moment late", server{route: func() (string, error) {
		if begin.IsZero() {
			begin = time.Now()
		}
		if time.Since(begin) < 50*time.Millisecond {
			return "", errNotThere
		}
		return anyFacts, nil
	}}, 100*time.Millisecond, factsOK, "3/facts", "4/facts")
	f("absent", server{}, 100*time.Millisecond, factsAbsent, own, none)
	f("hang", server{route: func() (string, error) { return "", errHang }}, 2*time.Second, factsLate, own, none)
	f("broken", server{route: func() (string, error) { return "", http.ErrSchemeMismatch }}, 0, factsFailed, own, none)
	for name, body := range map[string]string{
		"no JSON": "<html>", "list": "[]", "another's": `{"rid":"r2","completion_tokens":1}`, "text": `{"rid":"r1","completion_tokens":"many"}`,
		"negative": `{"rid":"r1","decode_runs":[{"first_step":1,"last_step":1,"batch":-2}]}`,
		"huge":     `{"rid":"r1","decode_runs":[{"first_step":1,"last_step":1,"batch":999999999}]}`,
		"backward": `{"rid":"r1","decode_runs":[{"first_step":9,"last_step":1,"batch":2}]}`,
		"overlap":  `{"rid":"r1","decode_runs":[{"first_step":1,"last_step":5,"batch":2},{"first_step":3,"last_step":6,"batch":3}]}`,
		"tokens":   `{"rid":"r1","decode_runs":[{"first_step":1,"last_step":5,"batch":2,"tokens":-1}]}`,
		"long":     `{"rid":"r1","decode_runs":[{"first_step":1,"last_step":99999999999,"batch":2}]}`,
	} {
		f(name, server{route: always(body)}, 0, factsLies, own, none)
	}
	f("without steps", server{route: always(`{"rid":"r1","completion_tokens":1,"decode_runs":[]}`)}, 0, factsOK, own, none)
	f("bucket unknown", server{route: always(`{"rid":"r1","completion_tokens":2,"decode_runs":[{"first_step":1,"last_step":1,"batch":2}]}`)}, 0, factsOK, "2/facts", none)
	f("graphs off", server{route: always(`{"rid":"r1","cuda_graph":false,"decode_runs":[{"first_step":1,"last_step":1,"batch":2,"bucket":2}]}`)}, 0, factsOK, "2/facts", "0/facts")
}

func TestFactsAreAskedForWithoutAHeader(t *testing.T) {
	bubble(t, Config{NoPoll: true, Facts: "/turns"}, server{"/turns/r1": always(anyFacts)}, func(t *testing.T, g *Tagger) {
		f := func(head, body, want string) {
			t.Helper()
			w := g.Begin()
			w.Head([]byte(head))
			for _, b := range []byte(body) {
				w.Data([]byte{b}, time.Now())
			}
			w.End()
			u := &turn.Turn{Time: time.Now(), Status: 200}
			recorded := make(chan struct{})
			tag(w, u, func() { close(recorded) })
			<-recorded
			if got := u.Tags["batch"].Source; got != want {
				t.Errorf("%q %q: got batch from %s, want %s", head, body, got, want)
			}
		}
		// The id of a chat answer is the server's id of the request.
		f(okHead, `data: {"id":"r1","object":"chat.completion.chunk"}`, "facts")
		f(okHead, `{"object":"x", "id": "r1"}`, "facts")
		f(okHead, `data: {"id":"r/1"}`, "own")
		f(okHead, `data: {"id":7}`, "own")
		f(okHead, ``, "own")
		f(okHead, `data: {"id":"r`, "own")
		f("HTTP/1.1 200 OK\r\nx-sglang-rid: r1\r\n\r\n", ``, "facts")
	})
}

// TestTurnsThatFindNoPlaceAreRecordedAtOnce, without their facts, and counted;
// none waits longer than the timeout.
func TestTurnsThatFindNoPlaceAreRecordedAtOnce(t *testing.T) {
	const n, workers = 500, 4
	hang := func() (string, error) { return "", errHang }
	bubble(t, Config{NoPoll: true, FactsWorkers: workers}, server{"/turns/r1": hang}, func(t *testing.T, g *Tagger) {
		var recorded, atOnce atomic.Int64
		begin := time.Now()
		for range n {
			w := g.Begin()
			w.Head([]byte(factsHead))
			w.End()
			tag(w, &turn.Turn{Time: begin, Status: 200}, func() {
				recorded.Add(1)
				if time.Since(begin) == 0 {
					atOnce.Add(1)
				} else if d := time.Since(begin); d > 2*time.Second {
					t.Errorf("a turn waited %v", d)
				}
			})
		}
		synctest.Wait()
		full := g.Stats().Facts[factsFull]
		if full < n-factsQueue-workers-1 || atOnce.Load() != full {
			t.Errorf("of %d turns %d found no place, %d were recorded at once", n, full, atOnce.Load())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := recorded.Load(); got != n {
			t.Errorf("recorded: got %d of %d", got, n)
		}
		// So many failures in a row: nobody is asked for a while.
		if u, took := after(g); took != 0 || u.Tags["batch"].Source != "own" || g.Stats().Facts[factsBackoff] != 1 {
			t.Errorf("after %d failures: took %v, %v", n, took, g.Stats().Facts)
		}
		time.Sleep(longestWait)
		if _, took := after(g); took != 2*time.Second {
			t.Errorf("after the wait: took %v, want another attempt", took)
		}
	})
}

// TestEndOfTheAskerLeavesNoTurnBehind.
func TestEndOfTheAskerLeavesNoTurnBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTagger(t, Config{NoPoll: true, FactsWorkers: 2}, server{"/turns/r1": func() (string, error) { return "", errHang }})
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { g.Run(ctx) })
		var recorded atomic.Int64
		one := func() {
			w := g.Begin()
			w.Head([]byte(factsHead))
			w.End()
			tag(w, &turn.Turn{Time: time.Now(), Status: 200}, func() { recorded.Add(1) })
		}
		for range 50 {
			one()
		}
		begin := time.Now()
		cancel()
		run.Wait()
		one()
		if got := recorded.Load(); got != 51 || time.Since(begin) != 0 {
			t.Errorf("recorded: got %d of 51 after %v", got, time.Since(begin))
		}
	})
}

func TestOnsetIsJoinedByTokens(t *testing.T) {
	ms := time.Millisecond
	ptr := func(f float64) *float64 { return &f }
	// 21 tokens: steps 100 to 119, five to each run.
	plain := &facts{CompletionTokens: 21}
	timed := &facts{CompletionTokens: 21}
	for i := range 4 {
		bucket := 1 << i
		r := run{First: 100 + 5*i, Last: 104 + 5*i, Batch: i + 1, Bucket: &bucket}
		plain.Runs = append(plain.Runs, r)
		r.T0, r.T1 = ptr(float64(50*i)), ptr(float64(50*i+40)) // a step each 10 ms
		timed.Runs = append(timed.Runs, r)
	}
	f := func(facts *facts, o onset, want string) {
		t.Helper()
		r, ok := facts.at(o)
		got := "none"
		if ok && r.Bucket != nil {
			got = fmt.Sprint(r.Batch, *r.Bucket)
		} else if ok {
			got = fmt.Sprint(r.Batch)
		}
		if got != want {
			t.Errorf("%+v: got %s, want %s", o, got, want)
		}
	}
	at := func(delta, deltas int64, at, end time.Duration) onset {
		return onset{delta: delta, deltas: deltas, each: 1, at: at, end: end, whole: true}
	}
	// Every token is an event: the place alone decides.
	for delta, want := range map[int64]string{1: "1 1", 2: "1 1", 6: "1 1", 7: "2 2", 11: "2 2", 12: "3 4", 16: "3 4", 17: "4 8", 21: "4 8"} {
		f(plain, at(delta, 21, 0, 0), want)
	}
	// Eleven tokens were not shown. Where the steps to choose from share a
	// batch, it is known; else it is the nearest in time.
	f(plain, at(1, 10, 10*ms, 200*ms), "1 1")
	f(plain, at(10, 10, 190*ms, 200*ms), "4 8")
	f(plain, at(5, 10, 90*ms, 200*ms), "2 2")
	f(plain, at(5, 10, 130*ms, 200*ms), "3 4")
	f(plain, at(5, 10, 0, 0), "none")
	// The bounds hold against a time that cannot be.
	f(plain, at(10, 10, 0, 200*ms), "2 2")
	f(plain, at(1, 10, 200*ms, 200*ms), "3 4")
	// With the times of the steps the last byte came from the last of them.
	f(timed, at(5, 10, 50*ms, 200*ms), "1 1")
	f(timed, at(5, 10, 60*ms, 200*ms), "2 2")
	f(timed, at(5, 10, 110*ms, 250*ms), "2 2")
	f(timed, at(5, 10, 160*ms, 250*ms), "3 4")
	f(timed, onset{delta: 5, deltas: 5, each: 1, at: 50 * ms, end: 150 * ms}, "1 1")
	f(timed, onset{delta: 5, deltas: 5, each: 1, at: 60 * ms, end: 150 * ms}, "2 2")
	// The server counted the tokens itself.
	f(plain, onset{tokens: 12, delta: 3, deltas: 10}, "3 4")
	f(plain, onset{tokens: 99}, "4 8")
	// An answer that was cut may have gone on for long.
	f(plain, onset{delta: 17, deltas: 17, each: 1, at: 190 * ms, end: 200 * ms}, "4 8")
	// Events of four tokens.
	f(plain, onset{delta: 2, deltas: 6, each: 4, at: 50 * ms, end: 200 * ms, whole: true}, "1 1")
	// Nothing is known of the place, as in an answer that does not stream.
	f(plain, onset{at: 100 * ms, end: 200 * ms, whole: true}, "none")
	one := &facts{CompletionTokens: 21, Runs: []run{{First: 1, Last: 20, Batch: 7}}}
	f(one, onset{}, "7")
	f(&facts{CompletionTokens: 1}, at(1, 1, 0, 0), "none")
	// Two tokens a step, by their number, or as each run says.
	f(&facts{CompletionTokens: 41, Runs: plain.Runs}, at(22, 41, 0, 0), "3 4")
	several := &facts{CompletionTokens: 36, Runs: slices.Clone(plain.Runs)}
	several.Runs[1].Tokens = new(int)
	*several.Runs[1].Tokens = 20
	for delta, want := range map[int64]string{6: "1 1", 7: "2 2", 26: "2 2", 27: "3 4", 36: "4 8"} {
		f(several, at(delta, 36, 0, 0), want)
	}
	// The first run stands for several: where in it is not known.
	merged := &facts{CompletionTokens: 21, Merged: true, Runs: plain.Runs}
	f(merged, at(3, 21, 0, 0), "none")
	f(merged, at(8, 21, 0, 0), "2 2")
}

// TestFirstBadByteIsFoundAmongFindingsElseSignals: what says that an answer was
// cut is none, and a clean turn has none.
func TestFirstBadByteIsFoundAmongFindingsElseSignals(t *testing.T) {
	signals := []validate.Signal{{Kind: validate.EchoAbsent, Offset: 90, Delta: 9}, {Kind: validate.EchoNearMiss, Offset: 40, Delta: 4, AtMS: 7}}
	findings := []validate.Finding{{Kind: validate.SchemaValue, Offset: 60, Delta: 6, Tokens: 8}, {Kind: validate.TruncatedStreamCut, Offset: 5, Delta: 1}}
	f := func(v validate.Verdict, delta, tokens int64, want bool) {
		t.Helper()
		x := filling{Watch: &Watch{}, t: &turn.Turn{Verdict: v}}
		if got, ok := x.first(); ok != want || got.delta != delta || got.tokens != tokens {
			t.Errorf("%+v: got event %d, %d tokens, %v; want %d, %d, %v", v, got.delta, got.tokens, ok, delta, tokens, want)
		}
	}
	f(validate.Verdict{Outcome: validate.Corrupted, Suspect: true, Findings: findings, Signals: signals}, 6, 8, true)
	f(validate.Verdict{Outcome: validate.Clean, Suspect: true, Signals: signals}, 4, 0, true)
	f(validate.Verdict{Outcome: validate.Truncated, Findings: findings[1:]}, 0, 0, false)
	f(validate.Verdict{Outcome: validate.Clean}, 0, 0, false)
}
