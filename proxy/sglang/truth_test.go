package sglang_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/sglang"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
	"turnwatch/validate/agents"
)

// views are Taggers that each know one source, and watch the same turns.
type views struct {
	names   []string
	taggers []*sglang.Tagger
	mu      sync.Mutex
	tags    map[string]map[string]map[string]turn.Tag // by request id and view
	turns   map[string]turn.Turn
}

// watch makes the views of a server.
func watch(t *testing.T, url, statusLog string) *views {
	v := &views{tags: make(map[string]map[string]map[string]turn.Tag), turns: make(map[string]turn.Turn)}
	blind := []string{"x-none-"} // a view that reads no header asks for no facts
	for _, c := range []struct {
		name string
		cfg  sglang.Config
	}{
		{"facts", sglang.Config{NoPoll: true, FactsTimeout: 4 * time.Second}},
		{"status_log", sglang.Config{NoPoll: true, Prefixes: blind, StatusLog: statusLog}},
		{"poll", sglang.Config{Prefixes: blind}},
		{"own", sglang.Config{NoPoll: true, Prefixes: blind}},
	} {
		c.cfg.Upstream = url
		g, err := sglang.New(c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		v.names, v.taggers = append(v.names, c.name), append(v.taggers, g)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	for _, g := range v.taggers {
		run.Go(func() { g.Run(ctx) })
	}
	t.Cleanup(func() { cancel(); run.Wait() })
	return v
}

// each is one turn as every view sees it.
type each struct {
	v    *views
	seen []*sglang.Watch
}

func (v *views) begin() proxy.TurnTags {
	e := &each{v: v}
	for _, g := range v.taggers {
		e.seen = append(e.seen, g.Begin())
	}
	return e
}

func (e *each) Head(b []byte) {
	for _, w := range e.seen {
		w.Head(b)
	}
}

func (e *each) Data(p []byte, at time.Time) {
	for _, w := range e.seen {
		w.Data(p, at)
	}
}

func (e *each) End() {
	for _, w := range e.seen {
		w.End()
	}
}

func (e *each) Free() {}

func (e *each) Tag(t *turn.Turn) (late func(record func())) {
	return func(record func()) { e.tag(t, record) }
}

func (e *each) tag(t *turn.Turn, record func()) {
	var left sync.WaitGroup
	for i, w := range e.seen {
		one := *t
		left.Add(1)
		done := func() {
			defer left.Done()
			e.v.mu.Lock()
			defer e.v.mu.Unlock()
			if e.v.tags[t.RequestID] == nil {
				e.v.tags[t.RequestID] = make(map[string]map[string]turn.Tag)
			}
			e.v.tags[t.RequestID][e.v.names[i]] = one.AllTags()
		}
		if late := w.Tag(&one); late != nil {
			late(done)
		} else {
			done()
		}
	}
	go func() {
		left.Wait()
		record()
	}()
}

// Finish keeps the turn: views is a sink, too.
func (v *views) Finish(t *turn.Turn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	kept := *t
	kept.Findings = slices.Clone(t.Findings)
	v.turns[t.RequestID] = kept
}

// converse plays sessions, so many at a time, wanting the usage with each event
// or not, and returns the body of every
// answer by its request id.
func converse(t *testing.T, url string, each bool, sessions, atOnce int) map[string][]byte {
	bodies := make(map[string][]byte)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce, IdleConnTimeout: 4 * time.Second}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan int, sessions)
	for i := range sessions {
		next <- i
	}
	close(next)
	for range atOnce {
		all.Go(func() {
			for i := range next {
				s := agents.NewSession(uint64(1000 + i))
				for n := 1; n <= s.Turns(); n++ {
					id := fmt.Sprintf("%d-%d", i, n)
					body := s.Request(n, agents.Options{Model: "m", Stream: true})
					if each {
						body = bytes.Replace(body, []byte(`"include_usage":true`), []byte(`"include_usage":true,"continuous_usage_stats":true`), 1)
					}
					req, err := http.NewRequest("POST", url+"/v1/chat/completions", bytes.NewReader(body))
					if err != nil {
						t.Error(err)
						return
					}
					req.Header.Set("Content-Type", "application/json")
					req.Header.Set("X-Session-Id", s.ID)
					req.Header.Set("X-Request-Id", id)
					resp, err := client.Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					answer, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					bodies[id] = answer
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return bodies
}

// truth is what the simulator did for one turn: the largest batch and bucket of
// its decode steps, and those of the step that made the byte at an offset.
type truth struct {
	batch, bucket, batchThen, bucketThen int
	then, end                            time.Time // when that step and the last one were made
}

func truthOf(r sglangtest.Record, body []byte, offset int64) (t truth) {
	event := bytes.Count(body[:offset], []byte("\n\n")) // the first one has the role alone
	last := r.Runs[len(r.Runs)-1]
	step := r.Runs[0].First
	switch {
	case event > len(r.Steps): // in the finish, which the last token made
		step = last.Last
	case event > 0:
		step = max(step, r.Steps[event-1])
	}
	for _, run := range r.Runs {
		t.batch, t.bucket = max(t.batch, run.Batch), max(t.bucket, run.Bucket)
		if run.First <= step && step <= run.Last {
			t.batchThen, t.bucketThen, t.then = run.Batch, run.Bucket, run.Begin
			if n := run.Last - run.First; n > 0 {
				t.then = run.Begin.Add(run.End.Sub(run.Begin) * time.Duration(step-run.First) / time.Duration(n))
			}
		}
	}
	t.end = last.End
	return t
}

// enough returns how many of n may be wrong for a rate of 1% not to be
// contradicted: the one-sided 99% bound of a binomial count.
func enough(n int) int {
	p, sum := math.Pow(0.99, float64(n)), 0.0
	for k := 0; ; k++ {
		if sum += p; sum >= 0.99 {
			return k
		}
		p *= float64(n-k) / float64(k+1) * 0.01 / 0.99
	}
}

// TestTagsEqualTheTruth holds batch and bucket, over the turn and at its first
// bad byte, against the batches that the simulator really decoded in.
//
//	go test ./proxy/sglang -run TagsEqualTheTruth -v
//
// prints the errors of every source.
func TestTagsEqualTheTruth(t *testing.T) {
	t.Run("usage with each event", func(t *testing.T) { against(t, true, 5*time.Millisecond, 45) })
	t.Run("usage at the end", func(t *testing.T) { against(t, false, 20*time.Millisecond, 45) })
}

// against plays sessions against a simulator whose steps take so long.
func against(t *testing.T, each bool, step time.Duration, sessions int) {
	log, err := os.OpenFile(filepath.Join(t.TempDir(), "status.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cfg := sglangtest.Config{Plugin: true, Step: step, Seed: 7, StatusLog: log, StatusEvery: 10 * step}
	for _, name := range []string{"bad_json", "args_truncated", "missing_required", "wrong_type", "extra_property", "args_trailing", "args_empty", "unknown_tool"} {
		f, err := sglangtest.NewFault(name, 0.12, 7, "deepseekv4")
		if err != nil {
			t.Fatal(err)
		}
		cfg.Faults = append(cfg.Faults, f)
	}
	sim := sglangtest.NewServer(cfg)
	defer sim.Close()
	v := watch(t, sim.URL, log.Name())
	url, stop := relay(t, sim.URL, v.begin, v)
	bodies := converse(t, url, each, sessions, 30)
	stop()
	v.compare(t, sim, bodies, each, step)
}

// relay puts a sidecar in front of a server. stop returns when every turn was
// recorded.
func relay(t *testing.T, upstream string, tags func() proxy.TurnTags, sinks ...proxy.Sink) (url string, stop func()) {
	t.Helper()
	return relayWith(t, proxy.Config{Upstream: upstream, Tags: tags}, sinks...)
}

func relayWith(t *testing.T, cfg proxy.Config, sinks ...proxy.Sink) (url string, stop func()) {
	t.Helper()
	srv, err := proxy.New(cfg, sinks...)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- srv.Serve(ln) }()
	return "http://" + ln.Addr().String(), func() {
		t.Helper()
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// tally counts what a view tells of one tag.
type tally struct {
	told, missing, wrong, late int
	off                        float64
}

func (c *tally) add(tag turn.Tag, view string, want int, late bool) {
	n, err := strconv.Atoi(tag.Value)
	switch {
	case late:
		c.late++
	case err != nil || tag.Source != view:
		c.missing++
	default:
		c.told++
		c.off += math.Abs(float64(n - want))
		if n != want {
			c.wrong++
		}
	}
}

// compare counts how often each view is right about corrupted turns, and how
// far it is off. Without usage in each event the bad byte is placed by the time
// between it and the last byte: where a busy machine brought them so late that
// this is another number of steps, nobody could be right, and the turn is left
// out.
func (v *views) compare(t *testing.T, sim *sglangtest.Server, bodies map[string][]byte, each bool, step time.Duration) {
	records := make(map[string]sglangtest.Record)
	for _, r := range sim.Records() {
		records[r.RID] = r
	}
	got := make(map[string]*tally)
	corrupted := 0
	for id, u := range v.turns {
		if u.Outcome != validate.Corrupted {
			continue
		}
		corrupted++
		first := slices.MinFunc(u.Findings, func(a, b validate.Finding) int { return int(a.Offset - b.Offset) })
		is := truthOf(records[v.tags[id]["facts"]["rid"].Value], bodies[id], first.Offset)
		between := time.Duration((u.DurationMS - u.TTFBMS - first.AtMS) * float64(time.Millisecond))
		late := !each && (between-is.end.Sub(is.then)).Abs() > step/3
		for view, tags := range v.tags[id] {
			for name, want := range map[string]int{"batch": is.batch, "graph_bucket": is.bucket, "batch_at_onset": is.batchThen, "graph_bucket_at_onset": is.bucketThen} {
				if view != "facts" && strings.HasPrefix(name, "graph") {
					continue
				}
				c := got[view+" "+name]
				if c == nil {
					c = new(tally)
					got[view+" "+name] = c
				}
				c.add(tags[name], view, want, late && strings.HasSuffix(name, "onset"))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		c := got[name]
		t.Logf("%-27s told %3d times, %3d not, %3d too late; %3d wrong, off by %.2f on average", name, c.told, c.missing, c.late, c.wrong, c.off/float64(max(c.told, 1)))
		if bad := c.wrong + c.missing; strings.HasPrefix(name, "facts") && bad > enough(corrupted-c.late) {
			t.Errorf("%s: %d of %d wrong or missing, at most %d do not contradict 1%%", name, bad, corrupted-c.late, enough(corrupted-c.late))
		}
	}
	if corrupted < 100 {
		t.Errorf("only %d corrupted turns", corrupted)
	}
}
