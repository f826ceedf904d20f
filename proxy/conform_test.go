package proxy_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"turnwatch/proxy"
)

// upstream is the server behind the relay. It does nothing by itself: the
// test accepts its connections and says what is written on them.
type upstream struct {
	t    testing.TB
	url  string
	ln   net.Listener
	bell *bell

	// guarded by bell.mu
	conns []*peer // in the order of their arrival
	taken int     // how many of them accept has returned
}

// listen starts an upstream on "tcp", "unix" or "tls".
func listen(t testing.TB, network string) *upstream {
	t.Helper()
	ln, url := bind(t, network)
	u := &upstream{t: t, url: url, ln: ln, bell: newBell()}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			u.bell.change(func() {
				u.conns = append(u.conns, (&peer{t: t, name: "server", conn: c, bell: u.bell}).hear())
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		accepting.Wait()
		for _, p := range u.conns {
			p.close()
		}
	})
	return u
}

// bind opens a listener and gives the URL that an upstream there has.
func bind(t testing.TB, network string) (ln net.Listener, url string) {
	t.Helper()
	at, scheme := "127.0.0.1:0", "http://"
	if network == "unix" {
		at = filepath.Join(t.TempDir(), "s")
	} else if network == "tls" {
		network, scheme = "tcp", "https://"
	}
	ln, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	if network == "unix" {
		return ln, "unix:" + at
	}
	url = scheme + ln.Addr().String()
	if scheme == "https://" {
		server, _ := identity()
		ln = tls.NewListener(ln, server)
	}
	return ln, url
}

// accept waits for the next connection.
func (u *upstream) accept() *peer {
	u.t.Helper()
	if !u.bell.await(patience, func() bool { return len(u.conns) > u.taken }) {
		u.t.Fatalf("server: got %d connections, want another", u.taken)
	}
	u.bell.mu.Lock()
	defer u.bell.mu.Unlock()
	u.taken++
	return u.conns[u.taken-1]
}

// next waits for the connection on which something arrives that the test has
// not looked at: where the next request goes.
func (u *upstream) next() *peer {
	u.t.Helper()
	var p *peer
	if !u.bell.await(patience, func() bool {
		for _, p = range u.conns {
			if len(p.got) > p.off {
				return true
			}
		}
		return false
	}) {
		u.t.Fatal("server: got no further request")
	}
	return p
}

// untouched fails if any byte arrived that the test has not looked at.
func (u *upstream) untouched() {
	u.t.Helper()
	u.bell.mu.Lock()
	defer u.bell.mu.Unlock()
	for _, p := range u.conns {
		if got := p.got[p.off:]; len(got) > 0 {
			u.t.Fatalf("server: got %s, want nothing", clip(string(got)))
		}
	}
}

// accepted is the number of connections so far.
func (u *upstream) accepted() int {
	u.bell.mu.Lock()
	defer u.bell.mu.Unlock()
	return len(u.conns)
}

// relay is a running proxy and the way to it.
type relay struct {
	*proxy.Server
	t       testing.TB
	network string
	addr    string
	down    atomic.Bool                 // the test has called Shutdown
	held    func() (judged, stacks int) // of a child: the bytes it holds for judging, and of stacks
}

// Shutdown notes that what comes of it is the test's concern.
func (r *relay) Shutdown(ctx context.Context) error {
	r.down.Store(true)
	return r.Server.Shutdown(ctx)
}

// start runs a proxy in front of u on a TCP socket.
func start(t testing.TB, u *upstream, cfg proxy.Config, sinks ...proxy.Sink) *relay {
	t.Helper()
	cfg.Upstream = u.url
	return startOn(t, "tcp", cfg, sinks...)
}

// startOn runs a proxy on "tcp", "unix" or "tls" until the test's end. It
// must then come to rest by itself: every peer has left before.
func startOn(t testing.TB, network string, cfg proxy.Config, sinks ...proxy.Sink) *relay {
	t.Helper()
	ln, _ := bind(t, network)
	return serve(t, network, ln, cfg, sinks...)
}

func serve(t testing.TB, network string, ln net.Listener, cfg proxy.Config, sinks ...proxy.Sink) *relay {
	t.Helper()
	if cfg.UpstreamTLS == nil {
		_, cfg.UpstreamTLS = identity()
	}
	if *portable && cfg.Loops == 0 {
		cfg.Loops = -1
	}
	srv, err := proxy.New(cfg, sinks...)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Server: srv, t: t, network: network, addr: ln.Addr().String()}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	t.Cleanup(func() {
		for begin := time.Now(); srv.Stats().Clients.Load() > 0; time.Sleep(20 * time.Microsecond) {
			if time.Since(begin) > patience {
				t.Errorf("clients: got %d open connections, want 0: all had left", srv.Stats().Clients.Load())
				break
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil && !r.down.Load() {
			t.Errorf("Shutdown: got %v, want nil: all clients had left", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: got %v, want nil after Shutdown", err)
		}
	})
	return r
}

// rest waits until no answer is in progress: the server's connections are
// pooled then.
func (r *relay) rest() {
	r.t.Helper()
	for begin := time.Now(); r.Stats().Streams.Load() > 0; time.Sleep(20 * time.Microsecond) {
		if time.Since(begin) > patience {
			r.t.Fatal("an answer does not end")
		}
	}
}

// dial connects a client that records what it gets.
func (r *relay) dial() *peer {
	r.t.Helper()
	return r.deaf().hear()
}

// deaf connects a client that does not read.
func (r *relay) deaf() *peer {
	r.t.Helper()
	c, err := r.connect()
	if err != nil {
		r.t.Fatal(err)
	}
	p := &peer{t: r.t, name: "client", conn: c, bell: newBell()}
	r.t.Cleanup(p.close)
	return p
}

func (r *relay) connect() (net.Conn, error) {
	switch r.network {
	case "unix":
		return net.Dial("unix", r.addr)
	case "tls":
		_, client := identity()
		return tls.Dial("tcp", r.addr, client)
	}
	return net.Dial("tcp", r.addr)
}

// identity returns the two sides of a TLS session with 127.0.0.1.
var identity = func() func() (server, client *tls.Config) {
	made := sync.OnceValues(func() (*tls.Config, *tls.Config) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			panic(err)
		}
		cert := &x509.Certificate{
			SerialNumber: big.NewInt(1),
			NotBefore:    time.Now().Add(-time.Hour),
			NotAfter:     time.Now().Add(time.Hour),
			IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		}
		der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
		if err != nil {
			panic(err)
		}
		if cert, err = x509.ParseCertificate(der); err != nil {
			panic(err)
		}
		roots := x509.NewCertPool()
		roots.AddCert(cert)
		pair := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
		return &tls.Config{Certificates: []tls.Certificate{pair}}, &tls.Config{RootCAs: roots}
	})
	return func() (server, client *tls.Config) {
		server, client = made()
		return server.Clone(), client.Clone()
	}
}()
