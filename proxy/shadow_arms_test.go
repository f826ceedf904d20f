package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
	"turnwatch/validate/agents"
)

// badArm is a server that takes connections and does something with each until the test
// ends.
func badArm(t *testing.T, do func(c net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	conns := map[net.Conn]bool{}
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns[c] = true
			mu.Unlock()
			wg.Go(func() { defer c.Close(); do(c) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return "http://" + ln.Addr().String()
}

// The ways of an arm to be bad, beside one that is dead.

func stalled(t *testing.T) string {
	return badArm(t, func(c net.Conn) { io.Copy(io.Discard, c) })
}

func slowReader(t *testing.T) string {
	return badArm(t, func(c net.Conn) {
		c.(*net.TCPConn).SetReadBuffer(1)
		var b [1]byte
		for {
			if _, err := c.Read(b[:]); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

func flooding(t *testing.T) string {
	return badArm(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
		event := []byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + strings.Repeat("flood ", 1000) + "\"}}]}\n\n")
		for {
			if _, err := c.Write(event); err != nil {
				return
			}
		}
	})
}

// hasty are limits under which bad arms are soon noticed.
func hasty(cfg proxy.ShadowConfig) proxy.ShadowConfig {
	cfg.FirstByteTimeout, cfg.IdleTimeout, cfg.Timeout = 150*time.Millisecond, 150*time.Millisecond, 2*time.Second
	cfg.MaxAnswer, cfg.Concurrency, cfg.Queue = 256<<10, 4, 8
	return cfg
}

// TestShadowOfBadArmsIsAccountedFor: the live turns are all answered, and each request
// that an arm was offered ends as paired, dropped or failed.
func TestShadowOfBadArmsIsAccountedFor(t *testing.T) {
	for name, arm := range map[string]func(*testing.T) string{"dead": func(t *testing.T) string { return dead(t) }, "stalled": stalled, "slow reader": slowReader, "flooding": flooding} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := simulator(t, sglangtest.Config{})
			m := mirrors(t, live.URL, proxy.Config{Shadow: hasty(proxy.ShadowConfig{Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: arm(t)}}})})
			n := m.play(100, 15, 6)
			m.await(n)
			m.balanced(turn.Candidate, n)
			a, why := m.arm(turn.Candidate), m.why(turn.Candidate)
			if a.paired != 0 || a.failed < 3 || why["dropped backoff"] == 0 {
				t.Errorf("got %+v, %v, want some failed, and then the arm left alone", a, why)
			}
			emptied(t, m.Stats())
		})
	}
}

// TestPanicInAnArmsExchangeLeavesNothing: its connection is closed, and what was held
// of it is given back.
func TestPanicInAnArmsExchangeLeavesNothing(t *testing.T) {
	closed := make(chan struct{})
	arm := badArm(t, func(c net.Conn) { io.Copy(io.Discard, c); close(closed) })
	asked := 0
	key := func() string {
		if asked++; asked > 1 { // first for the evidence, then for what is sent
			panic("the test")
		}
		return ""
	}
	m := mirrors(t, simulator(t, sglangtest.Config{}).URL, proxy.Config{Capture: 1 << 20,
		Shadow: proxy.ShadowConfig{Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: arm, Key: key}}}})
	m.send(1, "/v1/chat/completions", plain)
	if got := m.why(turn.Candidate); got["failed panic"] != 1 {
		t.Errorf("got %v, want a panic", got)
	}
	select {
	case <-closed:
	case <-time.After(patience):
		t.Error("the connection is still there")
	}
	if err := m.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	emptied(t, m.Stats())
}

// TestArmThatReadsSlowlyIsGivenUp: a request that does not fit into its socket is not
// waited for, neither by the client nor for ever.
func TestArmThatReadsSlowlyIsGivenUp(t *testing.T) {
	live := new(heard)
	m := mirrors(t, live.serve(t), proxy.Config{Shadow: hasty(proxy.ShadowConfig{MaxBody: 64 << 20, Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: slowReader(t)}}})})
	m.send(1, "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"`+strings.Repeat("x", 24<<20)+`"}]}`)
	if got := m.why(turn.Candidate); got["failed write"] != 1 {
		t.Errorf("got %v, want a failed write", got)
	}
	m.balanced(turn.Candidate, 1)
}

// TestShadowIsAccountedForAtShutdown, with requests waiting, under way and not yet paired.
func TestShadowIsAccountedForAtShutdown(t *testing.T) {
	live := simulator(t, sglangtest.Config{Step: 2 * time.Millisecond})
	for range 3 {
		m := mirrors(t, live.URL, proxy.Config{Shadow: proxy.ShadowConfig{Concurrency: 2, Queue: 3,
			Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: stalled(t)}, {Arm: turn.Control, URL: simulator(t, sglangtest.Config{Step: 5 * time.Millisecond}).URL}}}})
		done := make(chan int, 1)
		go func() { done <- m.play(300, 8, 8) }()
		for begin := time.Now(); m.arm(turn.Control).offered < 12 && time.Since(begin) < patience; time.Sleep(time.Millisecond) { // somewhere in the middle
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		m.Shutdown(ctx)
		cancel()
		for _, name := range []turn.Arm{turn.Candidate, turn.Control} {
			a := m.arm(name)
			if a.offered == 0 || a.offered != a.paired+a.dropped+a.failed {
				t.Errorf("%s: got %+v, %v, want all that was offered", name, a, m.why(name))
			}
		}
		emptied(t, m.Stats())
		m.client.CloseIdleConnections()
		<-done
	}
}

// TestArmThatRecoversIsAskedAgain, one request at a time at first.
func TestArmThatRecoversIsAskedAgain(t *testing.T) {
	live := simulator(t, sglangtest.Config{})
	fd, addr := reserve(t)
	m := mirrors(t, live.URL, proxy.Config{Shadow: proxy.ShadowConfig{Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: "http://" + addr}}}})
	n := m.play(1, 2, 1)
	if m.await(n); m.arm(turn.Candidate).paired != 0 {
		t.Fatalf("got pairs with an arm that is not there")
	}
	ln := listenOn(t, fd)
	s := sglangtest.Start(ln, sglangtest.Config{})
	t.Cleanup(s.Close)
	for begin := time.Now(); m.arm(turn.Candidate).paired < 20; {
		if n += m.play(9, 1, 1); time.Since(begin) > patience {
			t.Fatalf("got %+v, %v, want the arm to be asked again", m.arm(turn.Candidate), m.why(turn.Candidate))
		}
		m.await(n)
	}
	m.balanced(turn.Candidate, n)
}

// heard is an arm that keeps the requests it gets, and answers each like a server.
type heard struct {
	mu   sync.Mutex
	reqs []*http.Request
	body []string
}

func (h *heard) serve(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { defer close(done); srv.Serve(ln) }()
	t.Cleanup(func() { srv.Close(); <-done })
	return "http://" + ln.Addr().String()
}

func (h *heard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	h.reqs, h.body = append(h.reqs, r), append(h.body, string(b))
	h.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, cleanEvents)
}

// send sends one request through the relay and waits for its pair.
func (m *mirrored) send(n int, path, body string, fields ...string) {
	m.t.Helper()
	req, err := http.NewRequest("POST", "http://"+m.addr+path, strings.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := m.client.Do(req)
	if err != nil {
		m.t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	m.await(n)
}

const plain = `{"model":"m", "stream":true,"messages":[{"role":"user","content":"hi"}],"temperature":0.7}`

// TestArmGetsTheRequestWithoutItsSecrets: the body byte for byte, and none of what is
// between the client and the live server alone.
func TestArmGetsTheRequestWithoutItsSecrets(t *testing.T) {
	live, arm := new(heard), new(heard)
	m := mirrors(t, live.serve(t), proxy.Config{Shadow: proxy.ShadowConfig{
		Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: arm.serve(t), Key: func() string { return "of-the-arm" }}}}})
	long := `{"model":"m","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("long ", 400_000) + `"}]}`
	for i, body := range []string{plain, long} {
		m.send(i+1, "/v1/chat/completions?x=1&api_key=secret&key=secret&access_token=secret&y=2", body, "Authorization", "Bearer secret", "X-Api-Key", "secret", "Cookie", "a=secret", "Traceparent", "00-1-2-01",
			"X-Auth-Token", "secret", "Proxy-Authorization", "secret", "Helicone-Auth", "secret", "X-Goog-Api-Key", "secret", "Ocp-Apim-Subscription-Key", "secret",
			"X-Amz-Signature", "secret", "X-Smg-Routing-Key", "kept", "X-B3-TraceId", "1", "Tracestate", "x", "Baggage", "x", "X-Request-Id", "r1", "X-Own", "kept", "Accept-Encoding", "gzip")
		r := arm.reqs[i]
		if arm.body[i] != body || r.RequestURI != "/v1/chat/completions?x=1&y=2" || r.ContentLength != int64(len(body)) {
			t.Errorf("body: got %s of %d for %s, want it as sent", clip(arm.body[i]), r.ContentLength, r.RequestURI)
		}
		for name, want := range map[string]string{"Authorization": "Bearer of-the-arm", "X-Turnwatch-Arm": "candidate", "X-Request-Id": "r1", "X-Own": "kept",
			"X-Auth-Token": "", "Proxy-Authorization": "", "Helicone-Auth": "", "X-Goog-Api-Key": "", "Ocp-Apim-Subscription-Key": "", "X-Amz-Signature": "",
			"X-Smg-Routing-Key": "kept", "X-Api-Key": "", "Cookie": "", "Traceparent": "", "X-B3-Traceid": "", "Tracestate": "", "Baggage": "", "Accept-Encoding": ""} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		if live.reqs[i].Header.Get("Authorization") != "Bearer secret" || live.reqs[i].Header.Get("X-Turnwatch-Arm") != "" {
			t.Errorf("the live request was changed: %v", live.reqs[i].Header)
		}
	}
	if p := m.pairs[0]; p.Twin(turn.Live, turn.Candidate).Outcome != turn.BothClean || p.Sides[0].Body == "" || p.Sides[0].Body != p.Sides[1].Body {
		t.Errorf("pair: got %s", p.AppendJSON(nil))
	}
}

// TestArmMayGetOtherValues of some fields, and it is recorded that the body is another.
func TestArmMayGetOtherValues(t *testing.T) {
	live, arm := new(heard), new(heard)
	m := mirrors(t, live.serve(t), proxy.Config{Shadow: proxy.ShadowConfig{
		Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: arm.serve(t), Set: map[string]string{"temperature": "0", "seed": "7", "model": `"other"`}}}}})
	m.send(1, "/v1/chat/completions", plain)
	want := `{"seed":7,"model":"other", "stream":true,"messages":[{"role":"user","content":"hi"}],"temperature":0}`
	if arm.body[0] != want || live.body[0] != plain {
		t.Errorf("got %s, want %s", arm.body[0], want)
	}
	if p := m.pairs[0]; p.Model != "m" || p.Sides[0].Body == p.Sides[1].Body {
		t.Errorf("pair: got %s", p.AppendJSON(nil))
	}
}

// TestRequestsWithEffectsAreNotMirrored unless that is allowed.
func TestRequestsWithEffectsAreNotMirrored(t *testing.T) {
	chat := func(more string) string {
		return `{"model":"m","messages":[{"role":"user","content":"q"}]` + more + `}`
	}
	f := func(path, body string, effects bool) {
		t.Helper()
		for _, allowed := range []bool{false, true} {
			live, arm := new(heard), new(heard)
			m := mirrors(t, live.serve(t), proxy.Config{Shadow: proxy.ShadowConfig{Effects: allowed, Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: arm.serve(t)}}}})
			m.send(1, path, body)
			if got, want := m.why(turn.Candidate)["dropped side_effects"] == 1, effects && !allowed; got != want {
				t.Errorf("%s %s, allowed %t: got %v, want dropped: %t", path, body, allowed, m.why(turn.Candidate), want)
			}
			m.balanced(turn.Candidate, 1)
		}
	}
	f("/v1/chat/completions", chat(``), false)
	f("/v1/chat/completions", chat(`,"tools":[{"type":"function","function":{"name":"f"}}],"store":false`), false)
	f("/v1/chat/completions", chat(`,"store":true`), true)
	f("/v1/chat/completions", chat(`,"tools":[{"type":"web_search"}]`), true)
	f("/v1/responses", `{"model":"m","input":"q"}`, true) // stored unless told not to be
	f("/v1/responses", `{"model":"m","input":"q","store":false}`, false)
	f("/v1/responses", `{"model":"m","input":"q","store":false,"tools":[{"type":"function","name":"f"}]}`, false)
	f("/v1/responses", `{"model":"m","input":"q","store":false,"tools":[{"type":"mcp","server_url":"x"}]}`, true)
	f("/v1/responses", `{"model":"m","input":"q","store":false,"background":true}`, true)
	f("/v1/responses", `{"model":"m","input":"q","store":false,"previous_response_id":"resp_1"}`, true)
	f("/v1/messages", chat(`,"tools":[{"name":"f","input_schema":{}},{"type":"bash_20250124","name":"bash"}]`), false)
	f("/v1/messages", chat(`,"tools":[{"type":"web_search_20250305","name":"web_search"}]`), true)
	f("/generate", `{"text":"q","session_params":{"id":"s"}}`, true)
}

// TestWhatIsMirroredCanBeNarrowed by session, model, path, field and size.
func TestWhatIsMirroredCanBeNarrowed(t *testing.T) {
	f := func(what string, cfg proxy.ShadowConfig, want int) {
		t.Helper()
		live, arm := new(heard), new(heard)
		cfg.Arms = []proxy.ShadowArm{{Arm: turn.Candidate, URL: arm.serve(t)}}
		m := mirrors(t, live.serve(t), proxy.Config{Shadow: cfg})
		m.send(0, "/v1/chat/completions", plain, "X-Kind", "a")
		m.send(0, "/v1/chat/completions", strings.Replace(plain, `"m"`, `"other"`, 1))
		m.send(0, "/v1/completions", `{"model":"m","prompt":"`+strings.Repeat("p", 2000)+`"}`)
		m.await(want)
		if got := m.arm(turn.Candidate).offered; got != float64(want) {
			t.Errorf("%s: got %v requests, want %d", what, got, want)
		}
	}
	f("all", proxy.ShadowConfig{}, 3)
	f("a model", proxy.ShadowConfig{Models: []string{"m"}}, 2)
	f("a path", proxy.ShadowConfig{Paths: []string{"/v1/completions"}}, 1)
	f("a field", proxy.ShadowConfig{Headers: map[string]string{"x-kind": ""}}, 1)
	f("a field's value", proxy.ShadowConfig{Headers: map[string]string{"x-kind": "b"}}, 0)
	f("a size", proxy.ShadowConfig{MaxBody: 1000}, 2)
}

// TestSessionsAreMirroredAsAWhole, about the share that was asked for, and the same ones
// by every relay.
func TestSessionsAreMirroredAsAWhole(t *testing.T) {
	live := simulator(t, sglangtest.Config{})
	var first map[string]int
	for range 2 {
		m := mirrors(t, live.URL, proxy.Config{Shadow: proxy.ShadowConfig{Ratio: 0.3, Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: live.URL}}}})
		m.play(1, 40, 4)
		m.await(int(m.arm(turn.Candidate).offered))
		turns := map[string]int{}
		for _, p := range m.pairs {
			turns[p.Session]++
		}
		for id, n := range turns {
			if n != agents.NewSession(1).Turns() {
				t.Errorf("%s: got %d of its turns, want all", id, n)
			}
		}
		if len(turns) < 4 || len(turns) > 24 {
			t.Errorf("got %d of 40 sessions, want about 12", len(turns))
		}
		if first == nil {
			first = turns
		} else if fmt.Sprint(first) != fmt.Sprint(turns) {
			t.Errorf("got %v, and %v before", turns, first)
		}
	}
}

// TestArmsHaveLimits of rate and of what answers bring, and pause while the live server
// is loaded. What answers bring is known when they have ended, which the first half waits
// for: of the second one at most is paired, if the machine is slow and the limit refills.
func TestArmsHaveLimits(t *testing.T) {
	f := func(why string, cfg proxy.ShadowConfig) {
		t.Helper()
		live := simulator(t, sglangtest.Config{})
		cfg.Arms = []proxy.ShadowArm{{Arm: turn.Candidate, URL: live.URL}}
		m := mirrors(t, live.URL, proxy.Config{Shadow: cfg})
		n := m.play(1, 3, 1)
		m.await(n)
		first := m.why(turn.Candidate)["paired "]
		n += m.play(11, 3, 1)
		m.await(n)
		m.balanced(turn.Candidate, n)
		if got := m.why(turn.Candidate); got["paired "] > first+1 || got["dropped "+why] == 0 {
			t.Errorf("%s: got %v, %d paired of the first half, want one more at most and the rest dropped", why, got, first)
		}
	}
	f("rate", proxy.ShadowConfig{Rate: 0.01})
	f("budget", proxy.ShadowConfig{Bytes: 3000})
	f("budget", proxy.ShadowConfig{Tokens: 500})
	f("max_batch", proxy.ShadowConfig{MaxBatch: 4, Load: func() int { return 5 }})
}

// TestClientThatLeavesLeavesItsShadow, unless it is to take it along.
func TestClientThatLeavesLeavesItsShadow(t *testing.T) {
	for _, cut := range []bool{false, true} {
		live := simulator(t, sglangtest.Config{Step: 500 * time.Millisecond})
		arm := simulator(t, sglangtest.Config{})
		arm.Pause()
		m := mirrors(t, live.URL, proxy.Config{Shadow: proxy.ShadowConfig{CutWithClient: cut, Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: arm.URL}}}})
		c := m.dial()
		c.send(asked("leaves", plain, "Content-Type: application/json"))
		c.until("data: ")
		for begin := time.Now(); arm.Load().Waiting == 0 && time.Since(begin) < patience; time.Sleep(time.Millisecond) {
		}
		c.fin()
		if !cut {
			for begin := time.Now(); m.Stats().ClientsGone.Load() == 0 && time.Since(begin) < patience; time.Sleep(time.Millisecond) {
			}
			arm.Resume()
		}
		m.await(1)
		want := "paired "
		if cut {
			want = "dropped client_gone"
		}
		if got := m.why(turn.Candidate); got[want] != 1 {
			t.Errorf("cut with the client %t: got %v, want %q", cut, got, want)
		}
		m.balanced(turn.Candidate, 1)
	}
}

// TestEvidenceOfArmsIsLent: what an arm was sent and answered is shown to the sinks where
// its turn is corrupted, and all is given back.
func TestEvidenceOfArmsIsLent(t *testing.T) {
	live := simulator(t, sglangtest.Config{})
	bad := simulator(t, sglangtest.Config{Faults: broken(1, 1, false)})
	seen := newKeeper()
	m := mirrors(t, live.URL, proxy.Config{Capture: 1 << 20, Shadow: proxy.ShadowConfig{Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: bad.URL}}}}, seen)
	n := m.play(1, 2, 1)
	m.await(n)
	seen.bell.await(patience, func() bool { return len(seen.turns) == 2*n })
	corrupted := 0
	for _, got := range seen.turns {
		if got.Outcome == validate.Corrupted {
			corrupted++
		}
	}
	lent := seen.lent[""] // the requests have no ids
	if corrupted == 0 || !strings.Contains(string(lent.Request.Head), "X-Turnwatch-Arm: candidate") || !strings.Contains(string(lent.Request.Body), `"messages"`) ||
		!strings.Contains(string(lent.Answer.Head), "200 OK") || !strings.Contains(string(lent.Answer.Body), `"choices"`) {
		t.Errorf("got %d corrupted turns, and lent %q, %d bytes, %q, %d bytes", corrupted, lent.Request.Head, len(lent.Request.Body), lent.Answer.Head, len(lent.Answer.Body))
	}
	holdsNothing(t, m.relay)
}
