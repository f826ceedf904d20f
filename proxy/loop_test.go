//go:build linux

package proxy_test

import (
	"testing"

	"turnwatch/proxy"
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
