package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestTimeOfTheLoopIsNoSilence: a server that was heard in a long round of the
// loop has been silent only since.
func TestTimeOfTheLoopIsNoSilence(t *testing.T) {
	begin := time.Now()
	st := &stream{heard: begin, spoke: true}
	if got := st.silent(begin.Add(time.Hour)); got != 0 {
		t.Errorf("right after it spoke: got %v of silence, want 0", got)
	}
	if got := st.silent(begin.Add(time.Hour + time.Minute)); got != time.Minute {
		t.Errorf("got %v of silence, want 1m", got)
	}
}

// TestStreamGoesOnWithoutItsLoop: what a loop cannot take is relayed all the same.
func TestStreamGoesOnWithoutItsLoop(t *testing.T) {
	up, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	s, err := New(Config{Upstream: "http://" + up.Addr().String(), Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.loops.all[0].end()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	answered, more := make(chan error, 1), make(chan struct{})
	go func() { answered <- answerInTwo(up, more) }()
	resp, err := http.Get("http://" + ln.Addr().String() + "/")
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 4)
	if _, err := io.ReadFull(resp.Body, first); err != nil {
		t.Fatal(err)
	}
	close(more)
	if rest, err := io.ReadAll(resp.Body); string(first)+string(rest) != "12345678" || err != nil {
		t.Errorf("got %q and %q, %v, want all of the answer", first, rest, err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if got := s.stats.LoopBusy.Load(); got != 0 {
		t.Errorf("the loop took %d ns, want it to have taken nothing", got)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	<-served
}

// answerInTwo serves one request with an answer, the second half once it is asked for.
func answerInTwo(ln net.Listener, more chan struct{}) error {
	c, err := ln.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n1234"); err != nil {
		return err
	}
	<-more
	_, err = io.WriteString(c, "5678")
	return err
}

// TestPanicOfACarriageLeavesNothingHeldTwice: what it gave back must not be given
// back by the exchange as well.
func TestPanicOfACarriageLeavesNothingHeldTwice(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	s, err := New(Config{Upstream: "http://" + ln.Addr().String(), Loops: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown(context.Background())
	up, err := s.up.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s.loops.all = []*loop{nil} // which panics
	x := &exchange{s: s, c: &clientConn{Conn: client, sock: client}, up: up, late: backlog{from: &s.buffers, buf: s.buffers.get(tinyBuffer)}}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it did not panic")
			}
		}()
		x.carry(&framing{})
	}()
	s.loops.all = nil
	if x.late.buf != nil {
		t.Error("the exchange holds what the carriage held")
	}
}
