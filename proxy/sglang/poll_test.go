package sglang

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// asked counts requests by path and wraps a server's answers.
type asked struct {
	mu sync.Mutex
	n  map[string]int
}

func (a *asked) count(s server) server {
	a.n = make(map[string]int)
	out := make(server)
	for path, f := range s {
		out[path] = func() (string, error) {
			a.mu.Lock()
			a.n[path]++
			a.mu.Unlock()
			return f()
		}
	}
	return out
}

// times is how often path was asked for.
func (a *asked) times(path string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n[path]
}

func (a *asked) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, path := range slices.Sorted(maps.Keys(a.n)) {
		all = append(all, fmt.Sprintf("%s×%d", path, a.n[path]))
	}
	return strings.Join(all, " ")
}

// bubble runs f, in which time is virtual, with a Tagger of s that runs.
func bubble(t *testing.T, cfg Config, s server, f func(t *testing.T, g *Tagger)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newTagger(t, cfg, s)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { g.Run(ctx) })
		synctest.Wait()
		f(t, g)
		cancel()
		wg.Wait()
	})
}

const (
	anyModel  = `{"model_path":"m","model_type":"t"}`
	anyServer = `{"version":"0.5.18","disable_overlap_schedule":false,"cuda_graph_config":{"decode":{"backend":"full","bs":[1,2,4,8]}}}`
	anyLoads  = `{"version":"0.5.18","loads":[{"dp_rank":0,"num_running_reqs":3,"num_waiting_reqs":2}]}`
	okHead    = "HTTP/1.1 200 OK\r\n\r\n"
)

// answer is a turn whose answer lasts for a while.
func answer(g *Tagger, lasts time.Duration) *turn.Turn {
	w := g.Begin()
	begin := time.Now()
	synctest.Wait() // what was woken has asked
	w.Head([]byte(okHead))
	time.Sleep(lasts)
	w.End()
	u := &turn.Turn{Time: begin, Status: 200, Ending: "complete"}
	tag(w, u, func() {})
	return u
}

func TestPollingIsGentle(t *testing.T) {
	var a asked
	s := a.count(server{"/model_info": always(anyModel), "/server_info": always(anyServer), "/v1/loads": always(anyLoads),
		"/metrics": always("sglang:num_running_reqs 3"), "/health": always("{}"), "/health_generate": always("{}")})
	bubble(t, Config{}, s, func(t *testing.T, g *Tagger) {
		time.Sleep(24 * time.Hour)
		if got := a.String(); got != "/model_info×1 /server_info×1" {
			t.Errorf("after an idle day: got %s", got)
		}
		answer(g, 9500*time.Millisecond)
		time.Sleep(24 * time.Hour)
		if got := a.String(); got != "/model_info×1 /server_info×1 /v1/loads×10" {
			t.Errorf("after a turn of 9.5 s: got %s", got)
		}
		for range 100 { // short turns, one after another
			answer(g, 50*time.Millisecond)
		}
		if n := a.times("/v1/loads"); n < 15 || n > 16 {
			t.Errorf("after 100 turns of 50 ms: got %d polls, want one a second", n-10)
		}
	})
	s = a.count(server{"/model_info": always(anyModel), "/server_info": always(anyServer), "/v1/loads": always(anyLoads), "/metrics": always("sglang:num_running_reqs 3")})
	bubble(t, Config{PollMetrics: true}, s, func(t *testing.T, g *Tagger) {
		answer(g, 2500*time.Millisecond)
		if got := a.String(); got != "/metrics×3 /model_info×1 /server_info×1 /v1/loads×3" {
			t.Errorf("with -poll-metrics: got %s", got)
		}
	})
	s = a.count(s)
	bubble(t, Config{NoPoll: true}, s, func(t *testing.T, g *Tagger) {
		answer(g, 2500*time.Millisecond)
		if got := a.String(); got != "" {
			t.Errorf("with -no-poll: got %s", got)
		}
	})
}

func TestOldNamesAreAsked(t *testing.T) {
	var a asked
	s := a.count(server{"/get_model_info": always(anyModel), "/get_server_info": always(anyServer),
		"/get_load": always(`[{"dp_rank":0,"num_reqs":7,"num_waiting_reqs":2}]`)})
	bubble(t, Config{}, s, func(t *testing.T, g *Tagger) {
		u := answer(g, 100*time.Millisecond)
		if got := show(u.Tags); !strings.Contains(got, "batch=5/poll") || !strings.Contains(got, "queue_at_head=2/poll") || !strings.Contains(got, "overlap_schedule=on/poll") {
			t.Errorf("got %s", got)
		}
		if got := a.String(); got != "/get_load×1 /get_model_info×1 /get_server_info×1" {
			t.Errorf("asked: got %s", got)
		}
	})
}

// TestPollsThatFailBackOff and delay nothing: the turns take no time at all.
func TestPollsThatFailBackOff(t *testing.T) {
	for _, how := range []error{errHang, errors.New("broken")} {
		var a asked
		bad := func() (string, error) { return "", how }
		s := a.count(server{"/model_info": bad, "/server_info": bad, "/v1/loads": bad, "/metrics": bad})
		bubble(t, Config{PollMetrics: true}, s, func(t *testing.T, g *Tagger) {
			w := g.Begin()
			for range 600 {
				begin := time.Now()
				v := g.Begin()
				v.Head([]byte(okHead))
				v.End()
				done := false
				tag(v, &turn.Turn{Time: begin, Status: 200}, func() { done = true })
				if took := time.Since(begin); took > 0 || !done {
					t.Fatalf("%v: a turn was delayed by %v", how, took)
				}
				time.Sleep(time.Second)
			}
			w.End()
			for path, n := range a.n {
				if n > 20 {
					t.Errorf("%v: %s was asked %d times in 10 minutes", how, path, n)
				}
			}
			for _, p := range g.Stats().Polls[:4] {
				if p.OK != 0 || p.Failed < 10 {
					t.Errorf("%v: counted %+v", how, p)
				}
			}
		})
	}
}

func TestServerThatComesUpLateIsKnown(t *testing.T) {
	var up atomic.Bool
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	when := func(body string) func() (string, error) {
		return func() (string, error) {
			if !up.Load() {
				return "", refused
			}
			return body, nil
		}
	}
	bubble(t, Config{}, server{"/model_info": when(anyModel), "/server_info": when(anyServer)}, func(t *testing.T, g *Tagger) {
		time.Sleep(10 * time.Minute)
		if u := answer(g, 0); u.Fingerprint != "" {
			t.Errorf("before: got %s", show(u.Tags))
		}
		up.Store(true)
		time.Sleep(longestWait)
		if u := answer(g, 0); u.Tags["version"].Value != "0.5.18" || u.Fingerprint == "" {
			t.Errorf("after: got %s", show(u.Tags))
		}
		if g.Stats().Restarts != 0 {
			t.Error("the first start was taken for a restart")
		}
	})
}

// TestRestartIsNoticed by counters that begin anew, by another version, or by
// a time in which nobody answered; and the server is asked again who it is.
func TestRestartIsNoticed(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	f := func(name string, loads ...any) {
		t.Helper()
		var a asked
		n := 0
		s := a.count(server{"/model_info": always(anyModel), "/server_info": always(anyServer), "/v1/loads": func() (string, error) {
			n++
			switch l := loads[min(n, len(loads))-1].(type) {
			case error:
				return "", l
			default:
				return l.(string), nil
			}
		}})
		bubble(t, Config{}, s, func(t *testing.T, g *Tagger) {
			answer(g, 20*time.Second)
			if got := g.Stats().Restarts; got != 1 || a.times("/server_info") != 2 || a.times("/model_info") != 2 {
				t.Errorf("%s: got %d restarts, %s", name, got, a.String())
			}
		})
	}
	at := func(version string, total int) string {
		return fmt.Sprintf(`{"version":%q,"loads":[{"num_running_reqs":1,"total_prefill_uncached_tokens":%d}]}`, version, total)
	}
	f("counter", at("1", 500), at("1", 600), at("1", 20), at("1", 30))
	f("version", at("1", 0), at("2", 0))
	f("refused", at("1", 0), refused, refused, at("1", 0))
}

// TestTurnAfterARestartHasTheNewConfiguration though it began to be answered
// before the server had said who it is.
func TestTurnAfterARestartHasTheNewConfiguration(t *testing.T) {
	loads, infos := 0, 0
	s := server{"/model_info": always(anyModel),
		"/v1/loads": func() (string, error) {
			loads++
			return fmt.Sprintf(`{"version":"%d","loads":[{"num_running_reqs":1}]}`, loads), nil
		},
		"/server_info": func() (string, error) {
			if infos++; infos == 1 {
				return `{"dsa_indexer_dtype":"bf16"}`, nil
			}
			time.Sleep(300 * time.Millisecond)
			return `{"dsa_indexer_dtype":"fp8"}`, nil
		}}
	bubble(t, Config{}, s, func(t *testing.T, g *Tagger) {
		if got := answer(g, 0).Tags["index_dtype"].Value; got != "bf16" {
			t.Errorf("before: got %q", got)
		}
		time.Sleep(time.Minute)
		w := g.Begin()
		begin := time.Now()
		synctest.Wait() // the restart is noticed
		time.Sleep(100 * time.Millisecond)
		w.Head([]byte(okHead))
		time.Sleep(500 * time.Millisecond)
		w.End()
		u := &turn.Turn{Time: begin, Status: 200, Ending: "complete"}
		tag(w, u, func() {})
		if got, want := u.Tags["index_dtype"], (turn.Tag{Value: "fp8", Source: "poll", AgeMS: 200}); got != want {
			t.Errorf("after: got %+v, want %+v", got, want)
		}
	})
}

// TestServerThatStartsLaterIsNoChange: turns before it has said who it is are
// held against nothing, and their answers make it be asked at once.
func TestServerThatStartsLaterIsNoChange(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	up := false
	once := func(body string, takes time.Duration) func() (string, error) {
		return func() (string, error) {
			if !up {
				return "", refused
			}
			time.Sleep(takes)
			return body, nil
		}
	}
	s := server{"/model_info": once(anyModel, 0), "/server_info": once(anyServer, 200*time.Millisecond), "/v1/loads": once(anyLoads, 0)}
	bubble(t, Config{}, s, func(t *testing.T, g *Tagger) {
		time.Sleep(10 * time.Minute) // the polls are a minute apart
		w := g.Begin()
		w.End()
		tag(w, &turn.Turn{Time: time.Now(), Status: 502, Ending: validate.ServerCut}, func() {})
		time.Sleep(time.Second)
		up = true
		if u := answer(g, 100*time.Millisecond); u.Tags["version"].Value != "" {
			t.Errorf("before it could be known: got %s", show(u.Tags))
		}
		time.Sleep(200 * time.Millisecond)
		first := answer(g, 0)
		if first.Tags["version"].Value != "0.5.18" {
			t.Errorf("0.3 s after the first answer: got %s", show(first.Tags))
		}
		if second := answer(g, 0); second.Fingerprint != first.Fingerprint {
			t.Errorf("got %s after %s", second.Fingerprint, first.Fingerprint)
		}
		if got := g.Stats(); got.Changes != 0 || got.Restarts != 0 {
			t.Errorf("got %d changes and %d restarts, want none", got.Changes, got.Restarts)
		}
	})
	// One that never says who it is, is waited for no longer than it takes.
	bubble(t, Config{}, server{}, func(t *testing.T, g *Tagger) {
		time.Sleep(time.Minute)
		for _, dtype := range []string{"bf16", "fp8"} {
			tagged(t, g, "HTTP/1.1 200 OK\r\nx-sglang-config-index-dtype: "+dtype+"\r\n\r\n")
			time.Sleep(time.Second)
		}
		if got := g.Stats().Changes; got != 1 {
			t.Errorf("without polls: got %d changes, want 1", got)
		}
	})
}

// TestTurnWithoutAnAnswerMakesUsAsk the server who it is, though seldom.
func TestTurnWithoutAnAnswerMakesUsAsk(t *testing.T) {
	var a asked
	s := a.count(server{"/model_info": always(anyModel), "/server_info": always(anyServer), "/v1/loads": always(anyLoads)})
	bubble(t, Config{}, s, func(t *testing.T, g *Tagger) {
		failed := func(how validate.Ending) {
			w := g.Begin()
			w.End()
			tag(w, &turn.Turn{Time: time.Now(), Ending: how}, func() {})
			answer(g, 2*time.Second)
		}
		time.Sleep(2 * doubtEvery)
		failed(validate.ClientGone)
		if got := a.times("/server_info"); got != 1 {
			t.Errorf("after a client left: asked %d times", got)
		}
		for range 20 {
			failed(validate.ServerCut)
		}
		if got := a.times("/server_info"); got != 2 || g.Stats().Restarts != 1 {
			t.Errorf("after 20 turns without an answer in 40 s: asked %d times", got)
		}
	})
}

func TestPolledTagsKnowTheirAge(t *testing.T) {
	bubble(t, Config{}, server{"/server_info": always(anyServer), "/v1/loads": always(anyLoads)}, func(t *testing.T, g *Tagger) {
		time.Sleep(time.Minute) // /model_info is given up
		f := func(u *turn.Turn, name string, want turn.Tag) {
			t.Helper()
			if got := u.Tags[name]; got != want {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
		}
		w := g.Begin()
		time.Sleep(400 * time.Millisecond)
		u := answer(g, 100*time.Millisecond)
		f(u, "version", turn.Tag{Value: "0.5.18", Source: "poll", AgeMS: 60400 - 3000})
		f(u, "batch_at_head", turn.Tag{Value: "3", Source: "poll", AgeMS: 400})
		f(u, "graph_bucket_at_head", turn.Tag{Value: "4", Source: "poll", AgeMS: 400})
		f(u, "queue_at_head", turn.Tag{Value: "2", Source: "poll", AgeMS: 400})
		f(u, "batch", turn.Tag{Value: "3", Source: "poll", AgeMS: 400})
		f(u, "own_batch_max", turn.Tag{Value: "1", Source: "own"})
		f(answer(g, time.Second), "batch", turn.Tag{Value: "3", Source: "poll"})
		w.End()
	})
	// A load that is too old says nothing: the own view stands in.
	n := 0
	once := func() (string, error) {
		if n++; n > 1 {
			return "", errHang
		}
		return anyLoads, nil
	}
	bubble(t, Config{}, server{"/v1/loads": once}, func(t *testing.T, g *Tagger) {
		w := g.Begin()
		time.Sleep(fresh + 2*time.Second)
		u := answer(g, time.Second)
		w.End()
		if got := u.Tags["batch"]; got != (turn.Tag{Value: "1", Source: "own"}) {
			t.Errorf("with a stale load: got %+v", got)
		}
	})
}
