package proxy_test

import (
	"context"
	"net"
	"testing"
	"time"

	"turnwatch/proxy"
)

// TestShutdownEndsAServeThatBegins at whatever point of its beginning that comes.
func TestShutdownEndsAServeThatBegins(t *testing.T) {
	for i := range 300 {
		srv, err := proxy.New(proxy.Config{Upstream: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		ln, _ := bind(t, "tcp")
		served := make(chan error, 1)
		go func() { served <- srv.Serve(ln) }()
		for begin := time.Now(); time.Since(begin) < time.Duration(i)*time.Microsecond; {
		}
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-served:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("round %d: Serve goes on after Shutdown", i)
		}
	}
}

// dawdler is a listener whose Accept learns late that it was closed.
type dawdler struct {
	net.Listener
	end chan struct{}
}

func (l *dawdler) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.end
	}
	return c, err
}

// TestShutdownWithoutTimeHasNothingToSay where no client is there to be cut.
func TestShutdownWithoutTimeHasNothingToSay(t *testing.T) {
	up := listen(t, "tcp")
	ln, _ := bind(t, "tcp")
	slow := &dawdler{ln, make(chan struct{})}
	p := serve(t, "tcp", slow, proxy.Config{Upstream: up.url})
	c := p.dial()
	again(t, up, c)
	c.close()
	for end := time.Now().Add(patience); p.Stats().Clients.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the client is still there")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Shutdown(ctx); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	close(slow.end)
}
