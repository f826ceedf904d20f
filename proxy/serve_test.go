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
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
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
