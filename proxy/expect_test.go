package proxy_test

import (
	"net"
	"testing"

	"turnwatch/proxy"
	"turnwatch/validate"
)

// TestClientThatCannotBeToldToGoOnIsGone: its server says no 100, it takes none of ours,
// and nothing else tells that it has left. Its turn is recorded, and its server let go.
func TestClientThatCannotBeToldToGoOnIsGone(t *testing.T) {
	up, seen := listen(t, "tcp"), newRecorder()
	p := startOn(t, "unix", proxy.Config{Upstream: up.url}, seen)
	c := p.deaf()
	if err := c.conn.(*net.UnixConn).CloseRead(); err != nil {
		t.Fatal(err)
	}
	c.send(head("POST /v1/chat/completions HTTP/1.1", "Host: x", "X-Request-Id: deaf", "Expect: 100-continue", "Content-Length: 5"))
	s := up.next()
	s.until("\r\n\r\n")
	if got := seen.of(t, "deaf"); got.Ending != validate.ClientGone || got.Status != 0 {
		t.Errorf("got %s, status %d, want %s and none", got.Ending, got.Status, validate.ClientGone)
	}
	s.ends()
	p.rest()
}
