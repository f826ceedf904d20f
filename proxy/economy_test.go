package proxy_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"turnwatch/proxy"
)

// countingListener counts how often its connections are read from.
type countingListener struct {
	net.Listener
	reads *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countingConn{c.(*net.TCPConn), l.reads}, nil
}

type countingConn struct {
	*net.TCPConn
	reads *atomic.Int64
}

func (c countingConn) Read(p []byte) (int, error) {
	c.reads.Add(1)
	return c.TCPConn.Read(p)
}

// TestHeadOfANewConnectionIsReadInLargePieces: fasthttp asks a new connection
// for a single byte.
func TestHeadOfANewConnectionIsReadInLargePieces(t *testing.T) {
	ln, _ := bind(t, "tcp")
	var reads atomic.Int64
	up := listen(t, "tcp")
	c := serve(t, "tcp", countingListener{ln, &reads}, proxy.Config{Upstream: up.url}).dial()
	s := ask(up, c, head("GET / HTTP/1.1", "Host: x", "X-A: "+strings.Repeat("a", 60000)))
	s.send(empty)
	c.read(empty)
	if n := reads.Load(); n > 100 {
		t.Errorf("a head of 60,000 bytes: got %d reads, want at most 100", n)
	}
}

// TestNamesOfClientsAreCut: a record holds a bounded part of what a client
// calls its model and its request.
func TestNamesOfClientsAreCut(t *testing.T) {
	up, seen := listen(t, "tcp"), newRecorder()
	c := start(t, up, proxy.Config{}, seen).dial()
	long := strings.Repeat("é", 5000)
	body := `{"model":"` + long + `","messages":[]}`
	ask(up, c, asked(long, body)).send(saying("hello"))
	c.read(saying("hello"))
	want := strings.Repeat("é", 126) + "…"
	if got := seen.of(t, want); got.Model != want {
		t.Errorf("model: got %d bytes, want %d", len(got.Model), len(want))
	}
}
