package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// TestLoopIsBehind when each round has ended late for a second, and only then.
func TestLoopIsBehind(t *testing.T) {
	const most, ms = 4, time.Millisecond
	type round struct {
		n    int
		took time.Duration
	}
	many := func(n int, r round) (all []round) {
		for range n {
			all = append(all, r)
		}
		return all
	}
	f := func(name string, want bool, limit time.Duration, rounds ...round) {
		t.Helper()
		var b behind
		l, at := lag{limit: limit, all: &b, caught: time.Unix(100, 0)}, time.Unix(100, 0)
		for _, r := range rounds {
			l.round(r.n, most, at, at.Add(r.took))
			at = at.Add(r.took)
		}
		if got := b.now(at); got != want {
			t.Errorf("%s: got behind %t, want %t", name, got, want)
		}
		if b.now(at.Add(lagTime)) {
			t.Errorf("%s: still behind after %v of silence", name, lagTime)
		}
	}
	f("quick rounds", false, 250*ms, many(1000, round{1, 5 * ms})...)
	f("one long round, as when the machine stalls", false, 250*ms, append(many(1, round{1, time.Minute}), round{most, ms}, round{1, ms})...)
	f("long rounds", true, 250*ms, many(5, round{1, 300 * ms})...)
	f("short rounds that never catch up", true, 250*ms, many(400, round{most, 5 * ms})...)
	f("short rounds that do", false, 250*ms, append(many(200, round{most, 5 * ms}), round{1, 5 * ms}, round{1, 5 * ms})...)
	f("no limit", false, -1, many(10, round{1, time.Second})...)
}

// TestTurnThatBeginsBehindIsNotJudged, on both ways of relaying: its bytes pass,
// it is unverified and counted; the next one is judged.
func TestTurnThatBeginsBehindIsNotJudged(t *testing.T) {
	for _, loops := range []int{-1, 1} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		seen := make(chan turn.Turn, 2)
		s, err := New(Config{Upstream: "http://" + ln.Addr().String(), Loops: loops}, sinkFunc(func(t *turn.Turn) { seen <- *t }))
		if err != nil {
			t.Fatal(err)
		}
		clients, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(clients) }()
		go serveTwo(ln)
		for i, want := range []validate.Outcome{validate.Unverified, validate.Clean} {
			if s.stats.behind.at.Store(0); i == 0 {
				s.stats.behind.at.Store(time.Now().Add(time.Hour).UnixNano())
			}
			askOnce(t, clients.Addr().String())
			if got := <-seen; got.Outcome != want || want == validate.Unverified && got.Reason != validate.ReasonLoopLate {
				t.Errorf("%d loops, turn %d: got %s, %s, want %s", loops, i, got.Outcome, got.Reason, want)
			}
		}
		if got := s.stats.dropped.counts()[string(turn.DropLoopLate)]; got != 1 {
			t.Errorf("%d loops: got %d counted, want 1", loops, got)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		ln.Close()
		<-served
	}
}

// sinkFunc is a Sink.
type sinkFunc func(*turn.Turn)

func (f sinkFunc) Finish(t *turn.Turn) { f(t) }

// The turn of that test, in two pieces.
const (
	lagBody  = `{"model":"m","stream":true,"messages":[{"role":"user","content":"?"}]}`
	lagFirst = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" +
		`data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}` + "\n\n"
	lagRest = `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
)

// serveTwo answers two requests, each on a connection of its own, the second
// piece a little after the first, which a loop may then relay.
func serveTwo(ln net.Listener) {
	for range 2 {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		r := bufio.NewReader(c)
		for line := ""; line != "\r\n"; {
			if line, err = r.ReadString('\n'); err != nil {
				break
			}
		}
		io.CopyN(io.Discard, r, int64(len(lagBody)))
		fmt.Fprint(c, lagFirst)
		time.AfterFunc(20*time.Millisecond, func() {
			fmt.Fprint(c, lagRest)
			c.Close()
		})
	}
}

func askOnce(t *testing.T, addr string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(lagBody), lagBody)
	var got []byte
	for buf := make([]byte, 4096); ; {
		n, err := c.Read(buf)
		if got = append(got, buf[:n]...); err != nil {
			break
		}
	}
	_, body, _ := cutHead(got)
	_, want, _ := cutHead([]byte(lagFirst + lagRest))
	if string(body) != string(want) {
		t.Errorf("got body %q, want %q", body, want)
	}
}

func cutHead(b []byte) (head, body []byte, ok bool) {
	at := headEnd(b)
	return b[:at], b[at:], at > 0
}
