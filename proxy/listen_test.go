package proxy_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"turnwatch/proxy"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

// TestPlainHTTPOnATLSPort is told so in plain text, whatever was sent with it,
// and logged once.
func TestPlainHTTPOnATLSPort(t *testing.T) {
	up := listen(t, "tcp")
	var log lines
	p := startOn(t, "tls", proxy.Config{Upstream: up.url, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, request := range []string{get, post, "DELETE /x HTTP/1.1\r\nHost: x\r\n\r\n", post + pattern(100000)} {
		nc, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		c := (&peer{t: t, name: "client", conn: nc, bell: newBell()}).hear()
		c.send(request)
		got, _ := c.rest()
		head, body, _ := strings.Cut(got, "\r\n\r\n")
		if !strings.HasPrefix(head, "HTTP/1.1 400 ") || body != "turnwatch: this port speaks TLS: use https\n" {
			t.Errorf("%s: got %s, want a 400 that says so", clip(request), clip(got))
		}
		c.close()
	}
	for begin := time.Now(); log.count("plain HTTP") == 0 && time.Since(begin) < patience; time.Sleep(time.Millisecond) {
	}
	if got := log.count("plain HTTP"); got != 1 {
		t.Errorf("log: got %d lines, want 1", got)
	}
	nc, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	c := (&peer{t: t, name: "client", conn: nc, bell: newBell()}).hear()
	c.send("\x00\x01\x02 neither the one nor the other")
	c.fin()
	if got, _ := c.rest(); strings.Contains(got, "HTTP") {
		t.Errorf("neither TLS nor HTTP: got %s", clip(got))
	}
	c.close()
}

// TestUntrustedServerIsToldWithTheSetting that makes it trusted.
func TestUntrustedServerIsToldWithTheSetting(t *testing.T) {
	up := listen(t, "tls")
	_, trusting := identity()
	f := func(cfg *tls.Config, want string) {
		t.Helper()
		p := startOn(t, "tcp", proxy.Config{Upstream: up.url, UpstreamTLS: cfg})
		c := p.dial()
		c.send(closing(get))
		if got, _ := c.rest(); !strings.HasPrefix(got, "HTTP/1.1 502 ") || !strings.Contains(got, want) {
			t.Errorf("got %s, want 502 and %s", clip(got), want)
		}
		c.close()
	}
	f(&tls.Config{ServerName: "127.0.0.1"}, "-upstream-ca")
	trusting.ServerName = "other.test"
	f(trusting, "-upstream-server-name")
}

// TestServerOfTheOtherSchemeIsToldSo where -upstream says https to one without TLS, or
// http to one with it.
func TestServerOfTheOtherSchemeIsToldSo(t *testing.T) {
	f := func(scheme, answer, want string) {
		t.Helper()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go answerAll(ln, answer)
		p := startOn(t, "tcp", proxy.Config{Upstream: scheme + ln.Addr().String()})
		c := p.dial()
		c.send(closing(get))
		if got, _ := c.rest(); !strings.HasPrefix(got, "HTTP/1.1 502 ") || !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want 502 and %s", scheme, clip(got), want)
		}
		c.close()
	}
	f("https://", "HTTP/1.1 400 Bad Request\r\n\r\n", "it speaks no TLS")
	f("http://", "\x15\x03\x01\x00\x02\x02\x46", "that port speaks TLS")
}

// answerAll answers every connection alike, until ln is closed.
func answerAll(ln net.Listener, answer string) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		c.Read(make([]byte, 4096)) // unread, it would reset the connection
		io.WriteString(c, answer)
		c.Close()
	}
}
