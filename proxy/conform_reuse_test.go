package proxy_test

import (
	"strings"
	"testing"
	"time"

	"turnwatch/proxy"
)

const post = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"

// ask sends a request on c, which must reach the server, and returns the
// connection on which it did.
func ask(up *upstream, c *peer, request string) *peer {
	up.t.Helper()
	c.send(request)
	s := up.next()
	s.read(request)
	return s
}

// TestServerConnectionIsUsedAgain, by whichever client comes next.
func TestServerConnectionIsUsedAgain(t *testing.T) {
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{})
	for range 3 {
		c := p.dial()
		for _, answer := range []string{empty, encoded("gzip"), head("HTTP/1.1 204 No Content"), head("HTTP/1.1 304 x", "Content-Length: 9")} {
			ask(up, c, post).send(answer)
			c.read(answer)
		}
		p.rest() // the client has its answer before the connection is pooled
	}
	if got := up.accepted(); got != 1 {
		t.Errorf("connections to the server: got %d, want 1", got)
	}
}

// TestServerConnectionOutlivesItsClient who leaves with the last byte of an
// answer, whole or streamed: the server has said all.
func TestServerConnectionOutlivesItsClient(t *testing.T) {
	for name, answer := range map[string][]string{
		"with its head": {empty},
		"in two reads":  {head("HTTP/1.1 200 OK", "Content-Length: 4") + "ab", "cd"},
		"in chunks":     {head("HTTP/1.1 200 OK", coded) + "2\r\nab\r\n", "0\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			up := listen(t, "tcp")
			p := start(t, up, proxy.Config{})
			for range 100 {
				c := p.dial()
				s := ask(up, c, post)
				for _, part := range answer {
					s.send(part)
					c.read(part)
				}
				c.fin()
				p.rest()
			}
			if got := up.accepted(); got != 1 {
				t.Errorf("connections to the server: got %d, want 1", got)
			}
		})
	}
}

// TestServerConnectionThatIsNotCleanIsNotUsedAgain and is closed.
func TestServerConnectionThatIsNotCleanIsNotUsedAgain(t *testing.T) {
	for _, tc := range []struct {
		name         string
		answer, want string
		more         string // arrives after the answer had been read
	}{
		{"the server says close", head("HTTP/1.1 200 OK", "Connection: x, Close", "Content-Length: 0"), empty, ""},
		{"bytes right after the end", empty + "HTTP/1.1 200 OK\r\n", empty, ""},
		{"a whole answer too many", empty + encodedLength(), empty, ""},
		{"bytes after the last chunk", encoded("gzip") + "\r\n", encoded("gzip"), ""},
		{"a body that may not be there", head("HTTP/1.1 204 No Content", "Content-Length: 2") + "ok", "", ""},
		{"a length of what may not be there", head("HTTP/1.1 204 No Content", "Content-Length: 2"), "", ""},
		{"chunks of what may not be there", head("HTTP/1.1 204 No Content", coded), "", ""},
		{"bytes that nobody asked for", empty, empty, "HTTP/1.1 408 Request Timeout\r\n\r\n"},
		{"one byte that nobody asked for", empty, empty, "\n"},
		{"an answer in HTTP/1.0", head("HTTP/1.0 200 OK", "Content-Length: 2") + "ok", head("HTTP/1.0 200 OK", "Content-Length: 2") + "ok", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			up := listen(t, "tcp")
			p := start(t, up, proxy.Config{})
			c := p.dial()
			first := ask(up, c, get)
			first.send(tc.answer)
			if tc.want != "" {
				c.read(tc.want)
			} else {
				c.until("\r\n\r\n")
			}
			if tc.more == "" {
				p.rest()
			}
			if tc.more != "" {
				first.send(tc.more)
			}
			other := p.dial()
			second := ask(up, other, post)
			if second == first {
				t.Fatal("the same connection was used again")
			}
			second.send(encodedLength())
			other.read(encodedLength())
			first.ends()
			if got := c.unread(); strings.Contains(got, "408") || len(got) > 0 {
				t.Errorf("client: got %s after its answer, want nothing", clip(got))
			}
		})
	}
}

// TestHalfReadAnswerIsNotUsedAgain: its client left in the middle of it.
func TestHalfReadAnswerIsNotUsedAgain(t *testing.T) {
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{})
	c := p.dial()
	first := ask(up, c, post)
	first.send(encoded("gzip")[:150])
	c.read(encoded("gzip")[:150])
	c.fin()
	first.ends()
	other := p.dial()
	second := ask(up, other, post)
	second.send(empty)
	other.read(empty)
}

// TestIdleServerConnectionIsGivenUpBeforeTheServerDoes: uvicorn waits 5 s.
func TestIdleServerConnectionIsGivenUpBeforeTheServerDoes(t *testing.T) {
	t.Parallel()
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	var took time.Duration
	for range 5 { // the machine may have held up one or another
		s := ask(up, c, get)
		begin := time.Now()
		s.send(empty)
		c.read(empty)
		if took = s.ends().Sub(begin); took < 4900*time.Millisecond {
			break
		}
	}
	if took >= 4900*time.Millisecond || took < time.Second {
		t.Errorf("idle for %v, want less than 5 s, and not much", took)
	}
	again(t, up, c)
}

// TestServerClosedAnIdleConnection: the next request succeeds and reaches the
// server exactly once.
func TestServerClosedAnIdleConnection(t *testing.T) {
	for _, how := range []string{"FIN", "RST"} {
		t.Run(how, func(t *testing.T) {
			up := listen(t, "tcp")
			c := start(t, up, proxy.Config{}).dial()
			for range 50 {
				s := ask(up, c, get)
				s.send(empty)
				c.read(empty)
				if how == "FIN" {
					s.fin()
				} else {
					s.rst()
				}
				next := ask(up, c, post) // fails if it comes to nothing
				next.send(empty)
				c.read(empty)
				up.untouched()
			}
		})
	}
}

// TestRequestThatMayHaveReachedTheServerIsNotRepeated: 502, and one arrival.
func TestRequestThatMayHaveReachedTheServerIsNotRepeated(t *testing.T) {
	for _, request := range []string{get, post, head("PUT / HTTP/1.1", "Host: x", "Content-Length: 0")} {
		for _, state := range []string{"new", "used"} {
			t.Run(request[:4]+" on a connection that is "+state, func(t *testing.T) {
				up := listen(t, "tcp")
				p := start(t, up, proxy.Config{})
				c := p.dial()
				if state == "used" {
					again(t, up, c)
				}
				ask(up, c, request).fin()
				failed(t, c, "502", "head")
				again(t, up, p.dial())
				up.untouched()
			})
		}
	}
}

// TestServerMayCloseWithItsAnswer: the FIN comes together with the last bytes.
func TestServerMayCloseWithItsAnswer(t *testing.T) {
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	for range 50 {
		s := ask(up, c, post)
		s.send(encoded("zstd"))
		s.fin()
		c.read(encoded("zstd"))
	}
}
