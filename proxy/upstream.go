package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// idleUpstream is how long a connection to the server may lie idle. uvicorn
// closes its side after 5 s; a request that crosses that FIN would be lost.
const idleUpstream = 4 * time.Second

// maxIdle bounds the idle connections that are kept.
const maxIdle = 1024

// stage names the part of an exchange with the server that went wrong.
type stage string

const (
	stageResolve   stage = "resolve"
	stageConnect   stage = "connect"
	stageTLS       stage = "tls"
	stageWrite     stage = "write"
	stageHead      stage = "head"
	stageBody      stage = "body"
	stageFirstByte stage = "first_byte" // -first-byte-timeout
	stageIdle      stage = "idle"       // -idle-timeout
)

// stages lists them.
func stages() []stage {
	return []stage{stageResolve, stageConnect, stageTLS, stageWrite, stageHead, stageBody, stageFirstByte, stageIdle}
}

// stageError is an exchange that the server spoiled.
type stageError struct {
	stage stage
	err   error
}

// silence is the error of a server that said nothing for too long.
func (s stage) silence(limit time.Duration) error {
	knob := map[stage]string{stageFirstByte: "-first-byte-timeout", stageIdle: "-idle-timeout"}[s]
	return &stageError{s, fmt.Errorf("silent for longer than %s=%s", knob, limit)}
}

func (e *stageError) Error() string { return fmt.Sprintf("%s: %v", e.stage, e.err) }
func (e *stageError) Unwrap() error { return e.err }

// upstream is the server behind us and the idle connections to it.
type upstream struct {
	network, addr string
	tls           *tls.Config // nil: plain
	timeout       time.Duration
	stats         *Stats
	buffers       *buffers

	mu     sync.Mutex
	idle   []*upConn // least recently used first
	reaper *time.Timer
	closed bool
}

// upConn is a connection to the server. It belongs to one exchange at a time.
type upConn struct {
	net.Conn          // what is read and written: TCP, unix, or TLS over them
	sock     net.Conn // the same, or what lies below the TLS
	peek     *peek
	lean     *lean     // of a plain one; nil: reads hold a buffer while they wait
	since    time.Time // idle since
	limited  bool      // a read deadline is set
	bufs     *buffers
	hang     func() // Close, made once

	mu   sync.Mutex
	fd   int  // the socket's own descriptor, in place of sock, while a loop reads; else 0
	shut bool // Close was called
}

// newUpstream reads the address of the server.
func newUpstream(cfg *Config, stats *Stats, bufs *buffers) (*upstream, error) {
	u := &upstream{timeout: cfg.ConnectTimeout, stats: stats, buffers: bufs}
	var err error
	if u.network, u.addr, err = upstreamAddr(cfg.Upstream); err != nil {
		return nil, err
	}
	if p, _ := url.Parse(cfg.Upstream); p.Scheme == "https" {
		u.tls = cfg.UpstreamTLS.Clone()
		if u.tls == nil {
			u.tls = &tls.Config{}
		}
		if u.tls.ServerName == "" {
			u.tls.ServerName = p.Hostname()
		}
		u.tls.NextProtos = []string{"http/1.1"}
	}
	return u, nil
}

// upstreamAddr splits the address of a server into what net.Dial takes.
func upstreamAddr(addr string) (network, host string, err error) {
	p, err := url.Parse(addr)
	if err != nil {
		return "", "", fmt.Errorf("read upstream address %q: %w", addr, err)
	}
	ports := map[string]string{"http": "80", "https": "443"}
	switch {
	case p.Scheme == "unix" && p.Host == "" && p.Path+p.Opaque != "":
		return "unix", p.Path + p.Opaque, nil
	case ports[p.Scheme] == "" || p.Hostname() == "":
		return "", "", fmt.Errorf("read upstream address %q: want http://host:port, https://host:port or unix:/path", addr)
	case p.Path != "" && p.Path != "/" || p.RawQuery != "" || p.User != nil:
		return "", "", fmt.Errorf("read upstream address %q: only scheme, host and port may be given; paths are relayed as the client sends them", addr)
	}
	port := p.Port()
	if port == "" {
		port = ports[p.Scheme]
	}
	return "tcp", net.JoinHostPort(p.Hostname(), port), nil
}

// get returns an idle connection that is known to be clean, or nil.
func (u *upstream) get() *upConn {
	for {
		up := u.pop()
		if up == nil {
			return nil
		}
		if time.Since(up.since) < idleUpstream && up.peek.nothing() {
			u.stats.UpstreamReused.Add(1)
			return up
		}
		up.Close()
	}
}

func (u *upstream) pop() *upConn {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := len(u.idle) - 1
	if n < 0 {
		return nil
	}
	up := u.idle[n]
	u.idle[n] = nil
	u.idle = u.idle[:n]
	return up
}

// put takes back a connection whose last answer ended where its framing said.
func (u *upstream) put(up *upConn) {
	up.within(0)
	up.since = time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || len(u.idle) >= maxIdle {
		up.Close()
		return
	}
	u.idle = append(u.idle, up)
	if u.reaper == nil {
		u.reaper = time.AfterFunc(idleUpstream, u.reap)
	}
}

// reap closes what has been idle for too long and comes again while anything
// is idle.
func (u *upstream) reap() {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	for n < len(u.idle) && time.Since(u.idle[n].since) >= idleUpstream {
		u.idle[n].Close()
		n++
	}
	u.idle = append(u.idle[:0], u.idle[n:]...)
	if u.reaper = nil; len(u.idle) > 0 && !u.closed {
		u.reaper = time.AfterFunc(idleUpstream-time.Since(u.idle[0].since), u.reap)
	}
}

// close closes the idle connections; those in use are closed when they return.
func (u *upstream) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	if u.reaper != nil {
		u.reaper.Stop()
	}
	for _, up := range u.idle {
		up.Close()
	}
	u.idle = nil
}

// dial opens a connection, unless ctx ends first. Its errors name the stage.
func (u *upstream) dial(ctx context.Context) (*upConn, error) {
	ctx, cancel := context.WithTimeout(ctx, u.timeout)
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, u.network, u.addr)
	if err != nil {
		return nil, &stageError{dialStage(err), err}
	}
	up := &upConn{Conn: nc, sock: nc, bufs: u.buffers}
	up.hang = func() { up.Close() }
	if up.peek, err = newPeek(nc.(syscall.Conn)); err != nil {
		nc.Close()
		return nil, &stageError{stageConnect, err}
	}
	u.stats.UpstreamDialed.Add(1)
	if u.tls == nil {
		up.lean = newLean(nc, u.buffers)
		return up, nil
	}
	tc := tls.Client(nc, u.tls)
	if err := tc.HandshakeContext(ctx); err != nil {
		nc.Close()
		return nil, &stageError{stageTLS, err}
	}
	up.Conn = tc
	return up, nil
}

func dialStage(err error) stage {
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return stageResolve
	}
	return stageConnect
}

// Read reads as package net would.
func (up *upConn) Read(p []byte) (int, error) {
	if up.lean != nil {
		return up.lean.Read(p)
	}
	return up.Conn.Read(p)
}

// Write writes as package net would.
func (up *upConn) Write(p []byte) (int, error) {
	if up.lean != nil {
		return up.lean.Write(p)
	}
	return up.Conn.Write(p)
}

// within bounds the reads to come; 0 is no bound.
func (up *upConn) within(limit time.Duration) {
	switch {
	case limit > 0:
		up.SetReadDeadline(time.Now().Add(limit))
	case up.limited:
		up.SetReadDeadline(time.Time{})
	}
	up.limited = limit > 0
}

// Close closes the connection below any TLS, from any goroutine: nothing is
// written and nothing waited for.
func (up *upConn) Close() error {
	up.mu.Lock()
	defer up.mu.Unlock()
	up.shut = true
	if up.fd != 0 {
		return up.hangUp()
	}
	return up.sock.Close()
}

func (up *upConn) isShut() bool {
	up.mu.Lock()
	defer up.mu.Unlock()
	return up.shut
}
