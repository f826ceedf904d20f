package proxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"turnwatch/proxy"
	"turnwatch/validate"
)

// TestEveryKindOfSocketOnBothSides: TCP, unix sockets and TLS.
func TestEveryKindOfSocketOnBothSides(t *testing.T) {
	networks := []string{"tcp", "unix", "tls"}
	for _, client := range networks {
		for _, server := range networks {
			t.Run(client+" to "+server, func(t *testing.T) {
				up := listen(t, server)
				c := startOn(t, client, proxy.Config{Upstream: up.url}).dial()
				for range 3 {
					c.send(get)
					s := up.next()
					s.read(get)
					s.sendPieces(encoded("gzip"), 100)
					c.read(encoded("gzip"))
				}
				if got := up.accepted(); got != 1 {
					t.Errorf("connections to the server: got %d, want 1", got)
				}
			})
		}
	}
}

// TestInterimAnswersPass, each as soon as it comes.
func TestInterimAnswersPass(t *testing.T) {
	interim := []string{
		head("HTTP/1.1 100 Continue"),
		head("HTTP/1.1 102 Processing"),
		head("HTTP/1.1 103 Early Hints", "Link: </a>; rel=preload"),
		head("HTTP/1.1 103 Early Hints", "link: </b>", "Content-Length: 7"),
		head("HTTP/1.1 199 "),
	}
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	c.send(get)
	s := up.next()
	s.read(get)
	for _, one := range interim {
		s.send(one)
		c.read(one)
	}
	s.send(empty)
	c.read(empty)
	all := strings.Join(interim, "") + encoded("br")
	passes(t, get, all, all)
}

// TestInterimAnswerLosesHopByHopFields as the final one does.
func TestInterimAnswerLosesHopByHopFields(t *testing.T) {
	passes(t, get, head("HTTP/1.1 103 x", "Connection: keep-alive, X-A", "X-A: 1", "X-B: 2")+empty, head("HTTP/1.1 103 x", "X-B: 2")+empty)
}

// TestExpectContinue: the server decides whether the body is wanted, and
// nobody answers for it.
func TestExpectContinue(t *testing.T) {
	const length = "Content-Length: 5"
	expecting := head("POST / HTTP/1.1", "Host: x", "Expect: 100-continue", length)
	begin := func(t *testing.T) (up *upstream, c, s *peer) {
		t.Helper()
		up = listen(t, "tcp")
		c = start(t, up, proxy.Config{}).dial()
		c.send(expecting)
		s = up.next()
		s.read(expecting)
		c.quiet()
		return up, c, s
	}
	t.Run("the server continues", func(t *testing.T) {
		up, c, s := begin(t)
		s.send(head("HTTP/1.1 100 Continue", "X-A: 1"))
		c.read(head("HTTP/1.1 100 Continue", "X-A: 1"))
		c.send("hello")
		s.read("hello")
		s.send(empty)
		c.read(empty)
		again(t, up, c)
	})
	for _, status := range []string{"HTTP/1.1 417 Expectation Failed", "HTTP/1.1 401 Unauthorized", "HTTP/1.1 200 OK"} {
		t.Run("the server answers at once: "+status[9:12], func(t *testing.T) {
			_, c, s := begin(t)
			s.send(head(status, "Content-Length: 2") + "no")
			c.read(head(status, "Content-Length: 2") + "no")
			c.quietOrClosed()
			s.ends() // it may still wait for the body: the next request must not be taken for it
		})
	}
	t.Run("the client does not wait", func(t *testing.T) {
		up, c, s := begin(t)
		c.send("hello")
		s.read("hello")
		s.send(empty)
		c.read(empty)
		again(t, up, c)
	})
	t.Run("in odd case", func(t *testing.T) {
		odd := head("POST / HTTP/1.1", "Host: x", "eXPECT: 100-Continue", length)
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{}).dial()
		s := ask(up, c, odd)
		s.send(head("HTTP/1.1 100 Continue"))
		c.read(head("HTTP/1.1 100 Continue"))
	})
	t.Run("head and body in one write", func(t *testing.T) { reaches(t, expecting+"hello", expecting+"hello") })
	t.Run("the server continues after a body came", func(t *testing.T) {
		_, c, s := begin(t)
		c.send("hello")
		s.read("hello")
		s.send(head("HTTP/1.1 100 Continue") + empty)
		c.read(head("HTTP/1.1 100 Continue") + empty)
	})
	t.Run("chunked", func(t *testing.T) {
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{}).dial()
		c.send(head("POST / HTTP/1.1", "Host: x", "Expect: 100-continue", "Transfer-Encoding: chunked"))
		s := up.next()
		if got := s.until("\r\n\r\n"); !strings.Contains(got, "Expect: 100-continue\r\n") {
			t.Fatalf("server: got %q, want it to hold Expect", got)
		}
		s.send(head("HTTP/1.1 100 Continue"))
		c.read(head("HTTP/1.1 100 Continue"))
		c.send("5\r\nhello\r\n0\r\n\r\n")
		if got, err := readBody(s, http.Header{}); string(got) != "hello" {
			t.Errorf("body: got %q, %v, want hello", got, err)
		}
		s.send(empty)
		c.read(empty)
		again(t, up, c)
	})
}

// quietOrClosed accepts, after an answer, silence or the end, but no byte.
func (p *peer) quietOrClosed() {
	p.t.Helper()
	if got := p.unread(); got != "" {
		p.t.Fatalf("%s: got %s, want nothing more", p.name, clip(got))
	}
}

// TestBodyThatEndsWithItsConnection passes, and so does its end.
func TestBodyThatEndsWithItsConnection(t *testing.T) {
	for _, answer := range []string{
		head("HTTP/1.1 200 OK", "Content-Type: text/plain") + allBytes(),
		head("HTTP/1.1 200 OK", "Connection: close")[:len("HTTP/1.1 200 OK\r\n")] + "\r\nno fields at all",
		head("HTTP/1.0 200 OK") + "an old server",
		head("HTTP/1.1 200 OK"),
	} {
		for _, size := range []int{0, 1} {
			up := listen(t, "tcp")
			c := start(t, up, proxy.Config{}).dial()
			c.send(get)
			s := up.next()
			s.read(get)
			s.sendPieces(answer, size)
			c.read(answer)
			s.fin()
			c.ends(fin)
		}
	}
}

// TestOldServer: HTTP/1.0 answers pass as they are, and their connection is
// not used again, whatever the server says.
func TestOldServer(t *testing.T) {
	for _, tc := range []struct{ name, answer, want string }{
		{"length", head("HTTP/1.0 200 OK", "Content-Length: 2") + "ok", head("HTTP/1.0 200 OK", "Content-Length: 2") + "ok"},
		{"keep-alive", head("HTTP/1.0 200 OK", "Content-Length: 2", "Connection: keep-alive") + "ok", head("HTTP/1.0 200 OK", "Content-Length: 2") + "ok"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			up := listen(t, "tcp")
			p := start(t, up, proxy.Config{})
			for range 2 {
				c := p.dial()
				c.send(get)
				s := up.next()
				s.read(get)
				s.send(tc.answer)
				c.read(tc.want)
				p.rest()
			}
			if got := up.accepted(); got != 2 {
				t.Errorf("connections to the server: got %d, want 2", got)
			}
		})
	}
}

// TestOldClient: an HTTP/1.0 client gets its answer and then the end of its
// connection (RFC 9112 9.3: a proxy keeps none open with such a client).
func TestOldClient(t *testing.T) {
	for _, tc := range []struct{ name, request, reaches, answer, want string }{
		{"without Host", head("GET / HTTP/1.0"), "", empty, ""},
		{"with Host", head("GET / HTTP/1.0", "Host: x"), "", encodedLength(), ""},
		{"keep-alive", head("GET / HTTP/1.0", "Connection: Keep-Alive"), head("GET / HTTP/1.0"), encodedLength(), ""},
		{"with a body", head("POST / HTTP/1.0", "Content-Length: 2") + "{}", "", empty, ""},
		{"HEAD", head("HEAD / HTTP/1.0"), "", head("HTTP/1.1 200 OK", "Content-Length: 9"), ""},
		{"no interim answer", head("GET / HTTP/1.0"), "", head("HTTP/1.1 103 x", "Link: </a>") + empty, empty},
		{"no chunks", head("GET / HTTP/1.0"), "",
			head("HTTP/1.1 200 OK", "X-A: 1", "Transfer-Encoding: chunked", "X-B: 2") + chunked(pattern(1000), 99),
			head("HTTP/1.1 200 OK", "X-A: 1", "X-B: 2") + pattern(1000)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, size := range []int{0, 1} {
				up := listen(t, "tcp")
				c := start(t, up, proxy.Config{}).dial()
				c.send(tc.request)
				s := up.next()
				s.read(or(tc.reaches, tc.request))
				s.sendPieces(tc.answer, size)
				c.read(or(tc.want, tc.answer))
				c.ends(fin)
			}
		})
	}
	t.Run("body that ends with its connection", func(t *testing.T) {
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{}).dial()
		c.send(head("GET / HTTP/1.0"))
		s := up.next()
		s.read(head("GET / HTTP/1.0"))
		s.send(head("HTTP/1.0 200 OK") + "body")
		c.read(head("HTTP/1.0 200 OK") + "body")
		s.fin()
		c.ends(fin)
	})
}

func encodedLength() string { return head("HTTP/1.1 200 OK", "Content-Length: 5") + "hello" }

func or(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}

// TestPipelinedRequestsAreAnsweredInOrder, HEAD and bodies among them.
func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	requests := []string{
		head("GET /1 HTTP/1.1", "Host: x"),
		head("HEAD /2 HTTP/1.1", "Host: x"),
		head("POST /3 HTTP/1.1", "Host: x", "Content-Length: 5") + "hello",
		head("GET /4 HTTP/1.1", "Host: x"),
	}
	answers := []string{
		head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + chunked("first", 2),
		head("HTTP/1.1 200 OK", "Content-Length: 99"),
		head("HTTP/1.1 103 x") + head("HTTP/1.1 204 No Content"),
		head("HTTP/1.1 200 OK", "Content-Length: 4") + "last",
	}
	for _, size := range []int{0, 1, 7} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			up := listen(t, "tcp")
			c := start(t, up, proxy.Config{}).dial()
			c.sendPieces(strings.Join(requests, ""), size)
			for i, request := range requests {
				s := up.next()
				s.read(request)
				up.untouched() // one at a time: the next waits for the answer
				s.sendPieces(answers[i], size)
				c.read(answers[i])
			}
			again(t, up, c)
		})
	}
}

// TestMalformedRequestAfterAGoodOne: the good one is answered, then the other
// is refused and the connection closed.
func TestMalformedRequestAfterAGoodOne(t *testing.T) {
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	c.send(get + "GET /bad HTTP/1.1\r\nHost : x\r\n\r\n" + get)
	s := up.next()
	s.read(get)
	s.send(encodedLength())
	c.read(encodedLength())
	if got := c.until("\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("client: got %q, want 400", got)
	}
	c.rest()
	up.untouched()
}

// TestRequestThatArrivesInPieces waits for nothing but its own end.
func TestRequestThatArrivesInPieces(t *testing.T) {
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{})
	slow := p.dial()
	slow.send(get[:len(get)-2])
	other := p.dial()
	again(t, up, other)
	slow.send(get[len(get)-2:])
	s := up.next()
	s.read(get)
	s.send(empty)
	slow.read(empty)
}

// TestTurnWhoseBodyIsNotAskedForIsUnverified: what it allows is not known.
func TestTurnWhoseBodyIsNotAskedForIsUnverified(t *testing.T) {
	up, seen := listen(t, "tcp"), newRecorder()
	c := start(t, up, proxy.Config{}, seen).dial()
	s := ask(up, c, head("POST /v1/chat/completions HTTP/1.1", "Host: x", "X-Request-Id: big", "Expect: 100-continue", "Content-Length: 5"))
	s.send(head("HTTP/1.1 413 Content Too Large", "Content-Length: 2") + "no")
	c.read(head("HTTP/1.1 413 Content Too Large", "Content-Length: 2") + "no")
	if got := seen.of(t, "big"); got.Outcome != validate.Unverified || got.Reason != validate.ReasonUpstreamError {
		t.Errorf("got %s, %s, want unverified, upstream_error", got.Outcome, got.Reason)
	}
}
