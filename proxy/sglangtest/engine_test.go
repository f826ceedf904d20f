package sglangtest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// together puts n requests into the batch at once and waits for their ends.
func together(t *testing.T, s *Server, n int, content string) {
	t.Helper()
	s.Pause()
	ended := make(chan struct{})
	for i := range n {
		go func() {
			post(t, s, "/v1/chat/completions", object{"model": "m", "stream": true, "messages": []any{object{"role": "user", "content": content}}},
				"X-Session-Id", fmt.Sprint("s", i))
			ended <- struct{}{}
		}()
	}
	await(t, "all are queued", func() bool { return s.Load().Waiting == n })
	s.Resume()
	for range n {
		<-ended
	}
}

func TestBatchIsThoseThatRun(t *testing.T) {
	f := func(cfg Config, n, batch, bucket int) {
		t.Helper()
		s := start(t, cfg)
		together(t, s, n, "x")
		for _, r := range s.Records() {
			if len(r.Runs) == 0 || r.Runs[0].Batch != batch || r.Runs[0].Bucket != bucket {
				t.Errorf("%d requests: runs %v, want to begin with batch %d in bucket %d", n, r.Runs, batch, bucket)
				return
			}
		}
		if c := s.Counters(); c.LargestBatch != batch {
			t.Errorf("largest batch %d, want %d", c.LargestBatch, batch)
		}
	}
	script := func(*Request) *Answer { return say("ten tokens of six bytes, so a sentence of sixty by") }
	f(Config{Script: script}, 1, 1, 1)
	f(Config{Script: script}, 3, 3, 4)
	f(Config{Script: script}, 9, 9, 16)
	f(Config{Script: script}, 5, 5, 8)
	f(Config{Script: script, DisableCUDAGraph: true}, 5, 5, 0)
	f(Config{Script: script, Buckets: []int{1, 2}}, 3, 3, 0)
}

func TestQueueWaitsForRoomInTheBatch(t *testing.T) {
	s := start(t, Config{MaxRunning: 2})
	together(t, s, 5, "x")
	if c := s.Counters(); c.LargestBatch != 2 || c.Finished != 5 {
		t.Errorf("largest batch %d, finished %d; want 2, 5", c.LargestBatch, c.Finished)
	}
}

func TestRunsCoverEveryDecodeStep(t *testing.T) {
	s := start(t, Config{})
	together(t, s, 4, "x")
	for _, r := range s.Records() {
		steps := 0
		for _, run := range r.Runs {
			steps += run.Last - run.First + 1
		}
		if steps != r.CompletionTokens-1 { // prefill makes the first token
			t.Errorf("%d decode steps, want %d", steps, r.CompletionTokens-1)
		}
	}
}

func TestStepTakesItsTime(t *testing.T) {
	s := start(t, Config{Step: 5 * time.Millisecond, Script: func(*Request) *Answer { return &Answer{Silent: 11, Finish: "stop"} }})
	begin := time.Now()
	chat(t, s, "x", nil)
	if d := time.Since(begin); d < 50*time.Millisecond {
		t.Errorf("10 decode steps of 5 ms took %v", d)
	}
}

func TestPrefillTakesItsTime(t *testing.T) {
	s := start(t, Config{Prefill: 50 * time.Millisecond, Script: func(*Request) *Answer { return &Answer{PromptTokens: 1000, Finish: "stop"} }})
	begin := time.Now()
	chat(t, s, "x", nil)
	if d := time.Since(begin); d < 50*time.Millisecond {
		t.Errorf("a prefill of 50 ms took %v", d)
	}
}

func TestMaxTokensEndsWithLength(t *testing.T) {
	s := start(t, Config{})
	_, body := chat(t, s, "x", object{"max_tokens": 3})
	if !strings.Contains(body, `"finish_reason":"length","matched_stop":null`) || !strings.Contains(body, `"completion_tokens":3,`) {
		t.Error(body)
	}
}

// conn is what a TCP connection can do beside a net.Conn.
type conn interface {
	net.Conn
	SetLinger(int) error
	CloseWrite() error
}

// endless is an answer that ends with its client.
func endless(*Request) *Answer {
	return &Answer{Deltas: []Delta{Text("on ")}, Silent: 1 << 40, Finish: "stop"}
}

func TestClientThatLeavesTakesItsRequestOutOfTheBatch(t *testing.T) {
	f := func(name string, leave func(c conn)) {
		t.Helper()
		s := start(t, Config{Step: time.Millisecond, Script: endless})
		c := dial(t, s).(conn)
		body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`
		fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		await(t, name+": it runs", func() bool { return s.Load().Running == 1 })
		leave(c)
		await(t, name+": it left", func() bool { return s.Load().Running == 0 })
		if n := s.Counters().Aborted; n != 1 {
			t.Errorf("%s: %d aborted, want 1", name, n)
		}
		if r := s.Records(); !r[0].Aborted {
			t.Errorf("%s: the record does not say aborted", name)
		}
	}
	f("FIN", func(c conn) { c.Close() })
	f("RST", func(c conn) { c.SetLinger(0); c.Close() })
	f("half-close", func(c conn) { c.CloseWrite() })
}

func TestAbortRequestFinishesGracefully(t *testing.T) {
	s := start(t, Config{Step: time.Millisecond, Script: endless})
	got := make(chan string)
	go func() {
		defer close(got)
		_, body := chat(t, s, "x", object{"rid": "abc123", "stream": true})
		got <- body
	}()
	await(t, "it runs", func() bool { return s.Load().Running == 1 })
	if status, body := post(t, s, "/abort_request", object{"rid": "abc"}); status != 200 || body != "" {
		t.Errorf("%d %q, want 200 and no body", status, body)
	}
	body := <-got
	if !strings.Contains(body, `"finish_reason":"abort"`) || !strings.HasSuffix(body, done) {
		t.Error(body)
	}
}

func TestDuplicateRequestIDIsRefused(t *testing.T) {
	s := start(t, Config{Step: time.Millisecond, Script: endless})
	s.Pause()
	c := dial(t, s)
	body := `{"rid":"r1","messages":[{"role":"user","content":"x"}]}`
	fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	await(t, "it waits", func() bool { return s.Load().Waiting == 1 })
	status, got := chat(t, s, "x", object{"rid": "r1"})
	if status != 400 || !strings.Contains(got, "Duplicate request ID detected") {
		t.Errorf("%d %s", status, got)
	}
}

func TestSameSeedSameFaults(t *testing.T) {
	run := func(seed uint64) (struck []string) {
		s := start(t, Config{Seed: 1, Faults: []Fault{Origin(seed, 0.5)}})
		together(t, s, 12, `1. Call t with a = "value-0123456789".`)
		for _, r := range s.Records() {
			if len(r.Faults) > 0 {
				struck = append(struck, r.Session)
			}
		}
		slices.Sort(struck)
		return struck
	}
	a, b := run(7), run(7)
	if len(a) == 0 || !slices.Equal(a, b) {
		t.Errorf("struck %v, then %v", a, b)
	}
	if c := run(8); slices.Equal(a, c) {
		t.Errorf("another seed struck the same sessions %v", c)
	}
}

func TestSameSeedSameAnswers(t *testing.T) {
	ask := func(seed uint64) string {
		s := start(t, Config{Seed: seed})
		_, a := chat(t, s, onePlan, object{"rid": "r"})
		_, b := chat(t, s, "x", object{"rid": "r"})
		return created.ReplaceAllString(a+b, "")
	}
	if a, b := ask(1), ask(1); a != b {
		t.Errorf("got %s, then %s", a, b)
	}
	if ask(1) == ask(2) {
		t.Error("another seed made the same answers")
	}
}

func TestOriginNeedsAllFourConditions(t *testing.T) {
	f := func(cfg Config, n int, want bool) {
		t.Helper()
		cfg.Faults = []Fault{Origin(7, 1)}
		s := start(t, cfg)
		together(t, s, n, `1. Call t with a = "value-0123456789".`)
		struck := slices.ContainsFunc(s.Records(), func(r Record) bool { return len(r.Faults) > 0 })
		if struck != want {
			t.Errorf("%+v with %d requests: struck %v, want %v", cfg, n, struck, want)
		}
	}
	f(Config{}, 8, true)
	f(Config{}, 1, false)
	f(Config{MaxRunning: 1}, 8, false)
	f(Config{IndexDtype: "fp8"}, 8, false)
	f(Config{DisableCUDAGraph: true}, 8, false)
	f(Config{DisableOverlap: true}, 8, false)
}

func TestOriginStrikesItsShareOfSessions(t *testing.T) {
	o := Origin(3, 0.15)
	n := 0
	for i := range 4000 {
		st := State{IndexDtype: "bf16", CUDAGraph: true, Overlap: true, Batch: 2, Session: fmt.Sprint("s", i)}
		hit := false
		for st.Turn = 1; st.Turn <= 8; st.Turn++ {
			hit = hit || o.When(st)
		}
		if hit {
			n++
		}
	}
	if n < 520 || n > 680 { // 15% of 4000 is 600; three and a half standard deviations
		t.Errorf("%d of 4000 sessions, want about 600", n)
	}
}
