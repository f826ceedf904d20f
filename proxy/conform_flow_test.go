package proxy_test

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"turnwatch/proxy"
)

// TestEachReadIsWrittenBeforeTheNext: the server says the next word only when
// the client has the last one.
func TestEachReadIsWrittenBeforeTheNext(t *testing.T) {
	for _, network := range []string{"tcp", "tls", "unix"} {
		for _, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
			t.Run(network+" "+path, func(t *testing.T) {
				up := listen(t, network)
				c := startOn(t, network, proxy.Config{Upstream: up.url}).dial()
				s := ask(up, c, head("POST "+path+" HTTP/1.1", "Host: x", "Content-Length: 2")+"{}")
				for _, part := range []string{
					"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n",
					"a\r\ndata: {}\r\n\r\n", "a\r\nda", "ta: {}\r\n", "\r\n", "1\r", "\n", "x", "\r\n", "0", "\r\n\r\n",
				} {
					s.send(part)
					c.read(part)
				}
				again(t, up, c)
			})
		}
	}
}

// TestAnswerOfUnknownLengthIsNotHeldBack either.
func TestAnswerOfUnknownLengthIsNotHeldBack(t *testing.T) {
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	s := ask(up, c, get)
	for _, part := range []string{"HTTP/1.1 200 OK\r\n\r\n", "a", "b", "\n"} {
		s.send(part)
		c.read(part)
	}
}

// TestSlowClientSlowsItsOwnStreamOnly: its server is stopped, others are not,
// and no byte is lost.
func TestSlowClientSlowsItsOwnStreamOnly(t *testing.T) {
	for _, network := range []string{"tcp", "tls"} {
		t.Run(network, func(t *testing.T) {
			const n = 24 << 20
			up := listen(t, "tcp")
			p := startOn(t, network, proxy.Config{Upstream: up.url})
			slow := p.deaf()
			s := ask(up, slow, post)
			sock := s.conn.(*net.TCPConn)
			sock.SetWriteBuffer(64 << 10)
			socket(slow.conn).(*net.TCPConn).SetReadBuffer(64 << 10)
			answer := head("HTTP/1.1 200 OK", fmt.Sprintf("Content-Length: %d", n)) + pattern(n)
			var sent atomic.Int64
			done := make(chan error, 1)
			go func() {
				for rest := answer; len(rest) > 0; {
					k, err := io.WriteString(s.conn, rest[:min(len(rest), 64<<10)])
					if sent.Add(int64(k)); err != nil {
						done <- err
						return
					}
					rest = rest[k:]
				}
				done <- nil
			}()
			if at := standsStill(&sent); at > n-1<<20 {
				t.Fatalf("the server could write %d bytes that nobody read, want it to be stopped", at)
			}
			for range 20 {
				again(t, up, p.dial())
			}
			slow.hear()
			slow.read(answer)
			if err := <-done; err != nil {
				t.Errorf("server: %v", err)
			}
			again(t, up, slow)
		})
	}
}

// standsStill waits until n has not moved for a while.
func standsStill(n *atomic.Int64) int64 {
	for {
		before := n.Load()
		<-time.After(300 * time.Millisecond)
		if n.Load() == before && before > 0 {
			return before
		}
	}
}

// TestLongRequestStreamsThrough: 256 MiB reach the server while they are
// being sent, in little memory, byte for byte.
func TestLongRequestStreamsThrough(t *testing.T) {
	const n, size = 256 << 20, 1 << 20
	block := pattern(size)
	for _, tc := range []struct {
		path    string
		chunked bool
	}{{"/v1/files", false}, {"/v1/chat/completions", false}, {"/v1/files", true}} {
		t.Run(fmt.Sprintf("%s, chunked: %t", tc.path, tc.chunked), func(t *testing.T) {
			ln, url := bind(t, "tcp")
			defer ln.Close()
			p := startOn(t, "tcp", proxy.Config{Upstream: url, JudgeMemory: 8 << 20})
			seen, begun := make(chan error, 1), make(chan bool)
			go func() { seen <- receive(ln, block, n/size, tc.chunked, begun) }()

			c := p.dial()
			before := heap()
			framing := fmt.Sprintf("Content-Length: %d", n)
			if tc.chunked {
				framing = "Transfer-Encoding: chunked"
			}
			c.send(head("POST "+tc.path+" HTTP/1.1", "Host: x", framing))
			most := uint64(0)
			for i := range n / size {
				if tc.chunked {
					c.send(fmt.Sprintf("%x\r\n%s\r\n", size, block))
				} else {
					c.send(block)
				}
				if i == 2 {
					<-begun // the server has a piece of what is not yet sent to its end
				}
				if i%32 == 0 {
					most = max(most, heap())
				}
			}
			if tc.chunked {
				c.send("0\r\n\r\n")
			}
			c.read(empty)
			if err := <-seen; err != nil {
				t.Errorf("server: %v", err)
			}
			if grown := int64(most) - int64(before); grown > 48<<20 {
				t.Errorf("heap grew by %d MiB, want a few", grown>>20)
			}
		})
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// receive takes one request, whose body is block repeated, and answers it.
// begun is closed when the body's first bytes are there.
func receive(ln net.Listener, block string, times int, isChunked bool, begun chan<- bool) error {
	c, err := ln.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	body, err := bodyOf(c, isChunked)
	if err != nil {
		return err
	}
	buf := make([]byte, len(block))
	for i := range times {
		if _, err := io.ReadFull(body, buf); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
		if i == 0 {
			close(begun)
		}
		if string(buf) != block {
			return fmt.Errorf("block %d differs", i)
		}
	}
	if isChunked {
		if n, err := io.Copy(io.Discard, body); n > 0 || err != nil {
			return fmt.Errorf("after the last block: %d bytes, %v", n, err)
		}
	}
	_, err = io.WriteString(c, empty)
	return err
}

// TestClientThatPausesInItsRequestIsWaitedFor, and what it sent has arrived.
func TestClientThatPausesInItsRequestIsWaitedFor(t *testing.T) {
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	request, body := head("POST /v1/files HTTP/1.1", "Host: x", "Content-Length: 3145728"), pattern(3<<20)
	c.send(request + body[:2<<20])
	s := up.next()
	s.read(request + body[:2<<20])
	c.send(body[2<<20:])
	s.read(body[2<<20:])
	s.send(empty)
	c.read(empty)
	again(t, up, c)
}

// TestHeadOf64KiBPasses, both ways, and a larger one does not.
func TestHeadOf64KiBPasses(t *testing.T) {
	const most = 64 << 10
	fill := func(start string, n int) string {
		return start + strings.Repeat("X-Fill: 0123456789\r\n", 100) + "X-Long: " + strings.Repeat("x", n-len(start)-2000-8-4) + "\r\n\r\n"
	}
	request := fill("GET / HTTP/1.1\r\nHost: x\r\n", most)
	answer := fill("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", most)
	passes(t, request, answer, answer)
	t.Run("request too large", func(t *testing.T) {
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{}).dial()
		c.send(fill("GET / HTTP/1.1\r\nHost: x\r\n", most+1))
		failed(t, c, "431")
		c.rest()
		up.untouched()
	})
	t.Run("answer too large", func(t *testing.T) {
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{}).dial()
		s := ask(up, c, get)
		s.send(fill("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", most+32<<10))
		failed(t, c, "502", "head")
		s.ends()
	})
}

// TestAnswerMayComeBeforeTheRequestsEnd: it is not held back, and its server
// is not lost to the rest of the body.
func TestAnswerMayComeBeforeTheRequestsEnd(t *testing.T) {
	request, body := head("POST /v1/files HTTP/1.1", "Host: x", "Content-Length: 8388608"), pattern(8<<20)
	begin := func(t *testing.T) (up *upstream, c, s *peer) {
		up = listen(t, "tcp")
		c = start(t, up, proxy.Config{}).dial()
		c.send(request + body[:2<<20])
		s = up.next()
		s.read(request)
		return up, c, s
	}
	t.Run("the server reads on", func(t *testing.T) {
		up, c, s := begin(t)
		part := head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "5\r\nearly\r\n"
		s.send(part)
		c.read(part)
		c.send(body[2<<20:])
		s.read(body)
		s.send("0\r\n\r\n")
		c.read("0\r\n\r\n")
		again(t, up, c)
	})
	t.Run("the server has said all", func(t *testing.T) {
		_, c, s := begin(t)
		answer := head("HTTP/1.1 413 Too Large", "Connection: close", "Content-Length: 2") + "no"
		s.send(answer)
		c.read(head("HTTP/1.1 413 Too Large", "Content-Length: 2") + "no")
	})
	t.Run("the server answers and closes", func(t *testing.T) {
		_, c, s := begin(t)
		s.send(head("HTTP/1.1 413 Too Large", "Content-Length: 2") + "no")
		s.fin()
		c.read(head("HTTP/1.1 413 Too Large", "Content-Length: 2") + "no")
	})
}

// TestManyStreamsAtOnce: more than any pool's default.
func TestManyStreamsAtOnce(t *testing.T) {
	const n = 600
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{})
	clients, servers := make([]*peer, n), make([]*peer, n)
	for i := range n {
		clients[i] = p.dial()
		servers[i] = ask(up, clients[i], head(fmt.Sprintf("GET /%d HTTP/1.1", i), "Host: x"))
		servers[i].send(head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"))
	}
	for i := range n {
		rest := fmt.Sprintf("5\r\n%05d\r\n0\r\n\r\n", i)
		servers[i].send(rest)
		clients[i].read(head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + rest)
	}
}
