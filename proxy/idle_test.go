package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// TestClientThatSendsNoRequestIsLetGo: nothing, or half a head.
func TestClientThatSendsNoRequestIsLetGo(t *testing.T) {
	s, err := New(Config{Upstream: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	s.idle = 100 * time.Millisecond
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	for _, sent := range []string{"", "G", "GET / HTTP/1.1\r\nHost: x\r\n"} {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(30 * time.Second))
		io.WriteString(c, sent)
		if got, err := io.ReadAll(c); len(got) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: got %q, %v, want the end", sent, got, err)
		}
		c.Close()
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	<-served
}

// deadlines is a connection that says what it is told to, and notes how long it is to
// be waited for.
type deadlines struct {
	net.Conn
	says io.Reader
	set  []time.Time
}

func (d *deadlines) Read(p []byte) (int, error) { return d.says.Read(p) }

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// TestBodyIsWaitedFor: once a head has come, its client may take its time.
func TestBodyIsWaitedFor(t *testing.T) {
	d := &deadlines{says: strings.NewReader("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")}
	c := &clientConn{Conn: d, sock: d, s: new(Server), started: true, fresh: true}
	for range 2 { // what fasthttp is shown of the head, and the body
		if _, err := c.Read(make([]byte, readBuffer)); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.set) != 1 || !d.set[0].IsZero() {
		t.Errorf("got deadlines %v, want that none is left", d.set)
	}
}
