package proxy

import (
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// TestClientThatComesWhileAnswersAreCutIsCutToo: it was accepted before its listener was
// closed, and nobody else would end it.
func TestClientThatComesWhileAnswersAreCutIsCutToo(t *testing.T) {
	s, err := New(Config{Upstream: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	s.cutting.Store(true)
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(40 * time.Second))
	if n, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %d bytes, %v, want EOF", n, err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
