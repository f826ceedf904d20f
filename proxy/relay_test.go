package proxy

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestResetThatTheSenderWasToldOfEndsNoAnswer: the reader gets but an end.
func TestResetThatTheSenderWasToldOfEndsNoAnswer(t *testing.T) {
	closed, fixed := framing{kind: closedBody}, framing{kind: fixedBody, left: 1}
	for _, tc := range []struct {
		name string
		f    framing
		sent error
		read error
		want bool
	}{
		{"sent whole", closed, nil, io.EOF, true},
		{"the server closed before it had read all", closed, &stageError{stageWrite, syscall.EPIPE}, io.EOF, true},
		{"reset", closed, &stageError{stageWrite, syscall.ECONNRESET}, io.EOF, false},
		{"reset, told to the reader", closed, nil, syscall.ECONNRESET, false},
		{"framed", fixed, nil, io.EOF, false},
	} {
		x := &exchange{}
		x.body.pending = make(chan error, 1)
		x.body.pending <- tc.sent
		if got := x.closedWell(&tc.f, tc.read); got != tc.want {
			t.Errorf("%s: got %t, want %t", tc.name, got, tc.want)
		}
	}
}

// TestAnswerThatWaitsIsTimed: where a server takes no more of a request, its
// answer comes with the wait for it, and what is told of the turn counts from then.
func TestAnswerThatWaitsIsTimed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	s := new(Server)
	u := &upstream{network: "tcp", addr: ln.Addr().String(), timeout: time.Minute, stats: &s.stats, buffers: &s.buffers}
	up, err := u.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "HTTP/1.1 413"); err != nil {
		t.Fatal(err)
	}
	x := &exchange{s: s, up: up, watch: &observer{s: s}}
	for begin := time.Now(); !x.answerWaits(); { // it waits briefly, and a machine may be slow
		if time.Since(begin) > 30*time.Second {
			t.Fatal("no answer waits")
		}
	}
	if x.watch.first.IsZero() {
		t.Error("the answer's first byte came at no time")
	}
}

// TestArmsConnectionThatIsDoubtfulIsNotUsedAgain: as of the live server's, a body may
// still come that the status forbids.
func TestArmsConnectionThatIsDoubtfulIsNotUsedAgain(t *testing.T) {
	for head, want := range map[string]bool{
		"HTTP/1.1 204 No Content\r\n\r\n":                               true,
		"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n":          true,
		"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n":          false,
		"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n": false,
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n":        true,
		"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n":          false,
	} {
		c := new(call)
		if err := c.head.parse([]byte(head)); err != nil {
			t.Fatal(err)
		}
		if err := c.readBody(); err != nil || c.keep != want {
			t.Errorf("%q: got %t, %v, want %t", head, c.keep, err, want)
		}
	}
}
