package proxy_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"turnwatch/proxy"
)

// patience is how long a test waits for what must come.
const patience = 90 * time.Second

// ending says how a connection was closed by the other end.
type ending string

const (
	open ending = ""
	fin  ending = "FIN"
	rst  ending = "RST"
	torn ending = "FIN within a TLS session" // without the session's own goodbye
	ours ending = "closed by the test"
)

func endingOf(err error) ending {
	switch {
	case errors.Is(err, io.EOF):
		return fin
	case errors.Is(err, io.ErrUnexpectedEOF):
		return torn
	case errors.Is(err, net.ErrClosed):
		return ours
	}
	return rst
}

// bell is what peers that are waited for together share: a lock over their
// state, rung whenever something arrived.
type bell struct {
	mu   sync.Mutex
	cond *sync.Cond
}

func newBell() *bell {
	b := new(bell)
	b.cond = sync.NewCond(&b.mu)
	return b
}

// await waits until ok, which is called under the lock, and reports whether
// it came true within d.
func (b *bell) await(d time.Duration, ok func() bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	late := false
	timer := time.AfterFunc(d, func() { b.change(func() { late = true }) })
	defer timer.Stop()
	for !ok() {
		if late {
			return false
		}
		b.cond.Wait()
	}
	return true
}

func (b *bell) change(f func()) {
	b.mu.Lock()
	f()
	b.mu.Unlock()
	b.cond.Broadcast()
}

// emptied awaits that nothing is held for the judge: it is given back behind
// what tells of a turn.
func emptied(t *testing.T, stats *proxy.Stats) {
	t.Helper()
	for end := time.Now().Add(patience); stats.JudgeMemory.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("memory held: got %d, want 0", stats.JudgeMemory.Load())
		}
	}
}

// peer is one end of a connection that writes exact bytes and records what
// arrives, byte for byte, until the end.
type peer struct {
	t    testing.TB
	name string
	conn net.Conn
	bell *bell
	gone sync.WaitGroup // the recording goroutine

	// guarded by bell.mu
	got []byte // all that arrived
	off int    // up to where the test has looked at it
	how ending
	at  time.Time // of the end
}

// hear records what arrives from now on.
func (p *peer) hear() *peer {
	p.gone.Go(func() {
		buf := make([]byte, 16<<10)
		for {
			n, err := p.conn.Read(buf)
			now := time.Now()
			p.bell.change(func() {
				p.got = append(p.got, buf[:n]...)
				if err != nil {
					p.how, p.at = endingOf(err), now
				}
			})
			if err != nil {
				return
			}
		}
	})
	return p
}

func (p *peer) close() {
	p.conn.Close()
	p.gone.Wait()
}

// send writes each part with one call.
func (p *peer) send(parts ...string) {
	p.t.Helper()
	for _, s := range parts {
		if _, err := io.WriteString(p.conn, s); err != nil {
			p.t.Fatalf("%s: cannot send %s: %v", p.name, clip(s), err)
		}
	}
}

// sendPieces writes s in pieces of n bytes; n < 1 means whole.
func (p *peer) sendPieces(s string, n int) {
	p.t.Helper()
	for n > 0 && len(s) > n {
		p.send(s[:n])
		s = s[n:]
	}
	p.send(s)
}

// await waits for ok of the bytes that no call has looked at yet.
func (p *peer) await(ok func(unread []byte) bool) bool {
	return p.bell.await(patience, func() bool { return ok(p.got[p.off:]) })
}

// read waits for want and fails at the first byte that differs.
func (p *peer) read(want string) {
	p.t.Helper()
	n, same := 0, true
	p.await(func(b []byte) bool {
		seen := n
		n = min(len(b), len(want))
		same = string(b[seen:n]) == want[seen:n]
		return !same || n == len(want) || p.how != open
	})
	if !same || n < len(want) {
		got := p.unread()
		p.t.Fatalf("%s: got %s, want %s", p.name, p.state(got[:min(len(got), len(want))]), clip(want))
	}
	p.skip(n)
}

// until returns what arrives up to and including the mark.
func (p *peer) until(mark string) string {
	p.t.Helper()
	n := -1
	p.await(func(b []byte) bool {
		n = bytes.Index(b, []byte(mark))
		return n >= 0 || p.how != open
	})
	if n < 0 {
		p.t.Fatalf("%s: got %s, want it to hold %q", p.name, p.state(p.unread()), mark)
	}
	return p.skip(n + len(mark))
}

// rest waits for the end and returns what arrived before it.
func (p *peer) rest() (string, ending) {
	p.t.Helper()
	if !p.await(func([]byte) bool { return p.how != open }) {
		p.t.Fatalf("%s: got %s, want the connection closed", p.name, p.state(p.unread()))
	}
	return p.skip(len(p.unread())), p.how
}

// ends waits for the end, with nothing before it, in one of the given ways
// (any if none is given), and returns when it came.
func (p *peer) ends(ways ...ending) time.Time {
	p.t.Helper()
	got, how := p.rest()
	if got != "" {
		p.t.Fatalf("%s: got %s before the end, want nothing", p.name, clip(got))
	}
	for _, w := range ways {
		if how == w {
			return p.at
		}
	}
	if len(ways) > 0 {
		p.t.Fatalf("%s: got %s, want %v", p.name, how, ways)
	}
	return p.at
}

// quiet fails if anything arrived that the test has not looked at.
func (p *peer) quiet() {
	p.t.Helper()
	p.bell.mu.Lock()
	defer p.bell.mu.Unlock()
	if got := p.got[p.off:]; len(got) > 0 || p.how != open {
		p.t.Fatalf("%s: got %s %s, want nothing", p.name, clip(string(got)), p.how)
	}
}

// Read takes what arrived, in order, so that std's parsers can be used on it.
func (p *peer) Read(b []byte) (int, error) {
	n := 0
	p.await(func(unread []byte) bool {
		n = copy(b, unread)
		p.off += n
		return n > 0 || p.how != open
	})
	if n == 0 {
		return 0, fmt.Errorf("%s: nothing more came: %q", p.name, p.how)
	}
	return n, nil
}

func (p *peer) unread() string {
	p.bell.mu.Lock()
	defer p.bell.mu.Unlock()
	return string(p.got[p.off:])
}

func (p *peer) skip(n int) string {
	p.bell.mu.Lock()
	defer p.bell.mu.Unlock()
	p.off += n
	return string(p.got[p.off-n : p.off])
}

// state words what was got for a failure line.
func (p *peer) state(got string) string {
	p.bell.mu.Lock()
	defer p.bell.mu.Unlock()
	if p.how != open {
		return fmt.Sprintf("%s and then %s", clip(got), p.how)
	}
	return clip(got)
}

// fin, rst and halfClose are the ways to leave.
func (p *peer) fin() { p.conn.Close() }

func (p *peer) rst() {
	c := socket(p.conn)
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}

func (p *peer) halfClose() {
	p.t.Helper()
	if c, ok := p.conn.(*tls.Conn); ok {
		c.CloseWrite()
	}
	if err := socket(p.conn).(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		p.t.Fatalf("%s: cannot half-close: %v", p.name, err)
	}
}

// refused waits until the kernel says that nobody reads what is written.
func (p *peer) refused() {
	p.t.Helper()
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(time.Millisecond) {
		_, err := p.conn.Write([]byte("x"))
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			return
		}
	}
	p.t.Fatalf("%s: still heard after the other end had left: it was only half closed", p.name)
}

func socket(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}

// clip quotes s for a failure line.
func clip(s string) string {
	const most = 600
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q … %q (%d bytes)", s[:most/2], s[len(s)-most/2:], len(s))
}
