//go:build linux

package proxy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// streamed has one answer that streams come through p in two pieces.
func streamed(t *testing.T, up *upstream, p *relay) {
	t.Helper()
	c := p.dial()
	first, last := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: 1\n\r\n", "1\r\n\n\r\n0\r\n\r\n"
	s := ask(up, c, post)
	s.send(first)
	c.read(first)
	s.send(last)
	c.read(last)
}

func TestLoopRelaysWhatStreams(t *testing.T) {
	for _, loops := range []int{-1, 1, 3} {
		up := listen(t, "tcp")
		p := start(t, up, proxy.Config{Loops: loops})
		for range 4 {
			streamed(t, up, p)
			p.rest()
		}
		if took := p.Stats().LoopBusy.Load(); (took > 0) != (loops > 0) {
			t.Errorf("%d loops: they took %d ns", loops, took)
		}
	}
}

func TestConnectionIsUsedAgainAfterALoop(t *testing.T) {
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{Loops: 1})
	c := p.dial()
	s := ask(up, c, post)
	for i := range 3 {
		head, rest := "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n1234", "5678"
		s.send(head)
		c.read(head)
		s.send(rest)
		c.read(rest)
		if i < 2 {
			ask(up, c, post)
		}
	}
	if got := p.Stats().UpstreamReused.Load(); got != 2 {
		t.Errorf("got %d exchanges on a connection that had served before, want 2", got)
	}
}

// TestPipelinedBehindAStreamInALoop: a request that waits behind an answer in a
// loop is answered when that has ended, and not before.
func TestPipelinedBehindAStreamInALoop(t *testing.T) {
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{Loops: 1})
	c := p.dial()
	const more = 8
	for range 1 + more {
		c.send(post)
	}
	s := up.next()
	for i := range 1 + more {
		s.until("{}")
		first, last := head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")+"8\r\ndata: 1\n\r\n", "1\r\n\n\r\n0\r\n\r\n"
		s.send(first)
		c.read(first)
		s.quiet() // the next request is not sent before this answer has ended
		s.send(last)
		c.read(last)
		if got := up.accepted(); got != 1 {
			t.Fatalf("answer %d: got %d connections, want 1", i, got)
		}
	}
}

// inLoops opens n streams, each with its first piece, and returns both their ends.
func inLoops(t *testing.T, up *upstream, p *relay, n int) (servers, clients []*peer) {
	t.Helper()
	for range n {
		c := p.dial()
		s := ask(up, c, post)
		s.send(streamFirst)
		c.read(streamFirst)
		servers, clients = append(servers, s), append(clients, c)
	}
	return servers, clients
}

// A stream in two pieces.
var (
	streamFirst = head("HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked") + "8\r\ndata: 1\n\r\n"
	streamLast  = "1\r\n\n\r\n0\r\n\r\n"
)

// TestShutdownLetsStreamsInLoopsEnd, many of them at once.
func TestShutdownLetsStreamsInLoopsEnd(t *testing.T) {
	const n = 100
	up, seen := listen(t, "tcp"), make(chan validate.Ending, n)
	p := start(t, up, proxy.Config{Loops: 2}, endings(seen))
	servers, clients := inLoops(t, up, p, n)
	ended := make(chan error, 1)
	go func() { ended <- p.Shutdown(t.Context()) }()
	for i, s := range servers {
		s.send(streamLast)
		clients[i].read(streamLast)
	}
	if err := <-ended; err != nil {
		t.Errorf("Shutdown: got %v, want nil: every answer ended", err)
	}
	for range n {
		if got := <-seen; got != validate.Complete {
			t.Fatalf("a turn ended as %q, want complete", got)
		}
	}
}

// TestShutdownCutsStreamsInLoops that do not end in time: without a last chunk,
// and each is recorded as cut by us.
func TestShutdownCutsStreamsInLoops(t *testing.T) {
	const n = 100
	up, seen := listen(t, "tcp"), make(chan validate.Ending, n)
	p := start(t, up, proxy.Config{Loops: 2}, endings(seen))
	servers, clients := inLoops(t, up, p, n)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Shutdown(over); err == nil || !strings.Contains(err.Error(), "cut 100 answers") {
		t.Errorf("Shutdown: got %v, want that 100 answers were cut", err)
	}
	for i, c := range clients {
		if got, _ := c.rest(); got != "" {
			t.Errorf("a client got %q behind the cut", got)
		}
		servers[i].rest()
	}
	for range n {
		if got := <-seen; got != validate.ProxyCut {
			t.Fatalf("a turn ended as %q, want proxy_cut", got)
		}
	}
}

// endings is a sink of how turns ended.
type endings chan validate.Ending

func (e endings) Finish(t *turn.Turn) { e <- t.Ending }

// TestStreamsAreJudgedWhileNothingWaits: what a loop has put aside of a stream
// is judged though the server says no more.
func TestStreamsAreJudgedWhileNothingWaits(t *testing.T) {
	event := "data: {\"choices\":[],\"pad\":\"" + strings.Repeat("x", 380) + "\"}\n\n"
	up, judged, g := listen(t, "tcp"), make(chan struct{}), new(tags)
	const aside = 12 // so many events fill what is put aside
	g.before = func(call string) {
		if call == "data" && len(g.data) == aside*len(event) {
			close(judged)
		}
	}
	cfg := g.use()
	cfg.Loops = 1
	p := start(t, up, cfg)
	c := p.dial()
	s := ask(up, c, post)
	say := func(b string) {
		s.send(b)
		c.read(b)
	}
	say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	for range aside {
		say(fmt.Sprintf("%x\r\n%s\r\n", len(event), event))
	}
	select {
	case <-judged:
	case <-time.After(patience):
		t.Error("the judge still waits")
	}
	say("0\r\n\r\n")
}
