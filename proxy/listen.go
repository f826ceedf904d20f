package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// listener hands fasthttp connections that are watched and guarded.
type listener struct {
	net.Listener
	s     *Server
	close sync.Once
}

// Close closes it once: the second call is no error.
func (l *listener) Close() (err error) {
	l.close.Do(func() { err = l.Listener.Close() })
	return err
}

// Accept waits out what will pass, such as a process out of descriptors: an
// error here would end the server.
func (l *listener) Accept() (net.Conn, error) {
	for pause := time.Duration(0); ; {
		nc, err := l.Listener.Accept()
		if err == nil {
			c, err := l.s.adopt(nc)
			if err == nil {
				return c, nil
			}
			nc.Close()
			l.s.stats.AcceptErrors.Add(1)
			l.s.log.Warn("closed a connection that cannot be served", "cause", err)
			continue
		}
		if !passing(err) {
			return nil, err
		}
		l.s.stats.AcceptErrors.Add(1)
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		l.s.log.Warn("cannot accept a connection for now", "retry_in", pause, "cause", err)
		select {
		case <-time.After(pause):
		case <-l.s.stopping:
			return nil, net.ErrClosed
		}
	}
}

func passing(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED, syscall.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// fronts are the listeners that are served.
type fronts struct {
	mu     sync.Mutex
	all    []*listener
	closed bool
}

// open adds a listener. After close it closes that one, too.
func (f *fronts) open(l *listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all = append(f.all, l); f.closed {
		l.Close()
	}
}

// close closes them all, and those that are still to come.
func (f *fronts) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, l := range f.all {
		l.Close()
	}
}

// clientConn is a connection of a client as fasthttp sees it.
type clientConn struct {
	net.Conn // what is read and written: TCP, unix, or TLS over them
	socket   // the same, or what lies below the TLS

	s     *Server
	sock  net.Conn // what the socket is of
	lean  *lean    // of a plain one, where it is to be had
	close sync.Once

	// Touched only by the goroutine that serves the connection, or while it
	// waits for the one that sends its request's body.
	guard   guard
	shown   []byte // what fasthttp is still to be shown of the request in hand
	room    [summaryRoom]byte
	held    []byte // read, but not yet looked at
	lent    []byte // what held lies in
	refused error  // why the next byte will never be shown
	raw     bool   // past the guard: a tunnel
	started bool   // TLS: the handshake has been made
	fresh   bool   // no head has come yet, and it is not waited for without end
	swallow bool   // fasthttp's own next answer goes nowhere
	begun   bool   // the exchange in hand is, by expect
	x       exchange
}

// adopt makes a client's connection out of nc: TCP, unix, or TLS over them.
func (s *Server) adopt(nc net.Conn) (*clientConn, error) {
	c := &clientConn{Conn: nc, sock: nc, s: s, started: true, fresh: true}
	if tc, ok := nc.(*tls.Conn); ok {
		c.sock, c.started = tc.NetConn(), false
	}
	if err := s.watch.watch(c.sock, &c.socket); err != nil {
		return nil, fmt.Errorf("watch a client's connection: %w", err)
	}
	if plain(nc) { // what wraps one has a Read of its own
		c.lean = newLean(nc, &s.buffers)
	}
	c.sock.SetReadDeadline(time.Now().Add(s.idle))
	s.stats.Clients.Add(1)
	s.clients.add(c)
	if s.cutting.Load() { // it was accepted before, and comes too late to be found there
		c.cut()
	}
	return c, nil
}

// readBuffer is fasthttp's buffer, which a connection keeps for as long as it
// streams. Heads of any size fit, because fasthttp is shown a summary, and a
// short request comes with one read. The allocator has this size.
const readBuffer = 4864

// summaryRoom is more than the longest summary of a request.
const summaryRoom = 128

// Read shows fasthttp the request in hand, never the next, and nothing that
// the guard refuses. A head is shown once it is whole.
func (c *clientConn) Read(p []byte) (int, error) {
	for len(c.shown) == 0 && !c.raw && c.guard.state != guardBody && c.refused == nil {
		if err := c.readHead(p); err != nil {
			return 0, err
		}
	}
	switch {
	case len(c.shown) > 0:
		n := copy(p, c.shown)
		c.shown = c.shown[n:]
		return n, nil
	case c.refused != nil:
		return 0, c.refused
	}
	n, err := c.fill(p)
	if c.raw || n == 0 {
		return n, err
	}
	ok, refused := c.guard.takeBody(p[:n])
	if c.refused = refused; refused == nil {
		c.hold(p[ok:n])
	}
	if ok == 0 && refused != nil {
		return 0, refused
	}
	return ok, err
}

// readHead reads more of a head. p may be a single byte: then it is read through
// a buffer that is lent, on which a silent connection has no claim.
func (c *clientConn) readHead(p []byte) error {
	if len(p) < readBuffer && c.lean != nil && len(c.held) == 0 {
		b, n, err := c.lean.read(nil)
		defer c.s.buffers.put(b)
		return c.takeHead(b[:n], err)
	}
	if len(p) < readBuffer && len(c.guard.head) > 0 {
		b := c.s.buffers.get(relayPiece)
		defer c.s.buffers.put(b)
		p = b[:cap(b)]
	}
	n, err := c.fill(p)
	return c.takeHead(p[:n], err)
}

// takeHead takes what was read of a head, or why nothing was.
func (c *clientConn) takeHead(p []byte, err error) error {
	if len(p) == 0 {
		return err
	}
	if c.guard.head == nil {
		c.guard.head = c.s.buffers.get(readBuffer)
	}
	n, ended, refused := c.guard.takeHead(p)
	switch {
	case refused != nil:
		// fasthttp answers for a request that has begun only.
		c.refused, c.shown = refused, append(c.room[:0], 'X')
	case ended:
		c.hold(p[n:])
		c.shown = c.guard.summary(c.room[:0])
		c.came()
	}
	return nil
}

// came ends the wait for the first head: fasthttp bounds it of later ones alone.
func (c *clientConn) came() {
	if c.fresh {
		c.fresh = false
		c.sock.SetReadDeadline(time.Time{})
	}
}

// hold keeps what was filled in and belongs to what comes later.
func (c *clientConn) hold(p []byte) {
	if len(p) > 0 {
		c.holdBoth(p, c.held)
	}
}

// holdMore keeps what was read behind all that is held.
func (c *clientConn) holdMore(p []byte) {
	if len(p) > 0 {
		c.holdBoth(c.held, p)
	}
}

// holdBoth holds them in a buffer that is lent until it was looked at.
func (c *clientConn) holdBoth(first, then []byte) {
	b := append(append(c.s.buffers.get(len(first)+len(then)), first...), then...)
	c.s.buffers.put(c.lent)
	c.held, c.lent = b, b
}

// fill reads what was held back, or else from the socket.
func (c *clientConn) fill(p []byte) (int, error) {
	if len(c.held) > 0 {
		n := copy(p, c.held)
		if c.held = c.held[n:]; len(c.held) == 0 {
			c.s.buffers.put(c.lent)
			c.held, c.lent = nil, nil
		}
		return n, nil
	}
	if !c.started {
		if err := c.handshake(); err != nil {
			return 0, err
		}
	}
	if c.lean != nil {
		return c.lean.Read(p)
	}
	return c.Conn.Read(p)
}

// handshakeTimeout bounds a TLS handshake with a client.
const handshakeTimeout = 10 * time.Second

func (c *clientConn) handshake() error {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	c.started = true
	if err := c.Conn.(*tls.Conn).HandshakeContext(ctx); err != nil {
		c.plainSpoken(err)
		c.refused = net.ErrClosed // there is nobody to answer any more
		return c.refused
	}
	return nil
}

// plainAnswer is for clients that speak no TLS where it is spoken.
const plainAnswer = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 43\r\nConnection: close\r\n\r\n" +
	"turnwatch: this port speaks TLS: use https\n"

// plainLinger and plainRest bound what is still read of such a client: were it
// left unread, a reset might overtake the answer.
const (
	plainLinger = time.Second
	plainRest   = 1 << 20
)

// plainSpoken answers a handshake that began as a request of plain HTTP does,
// and logs the first in a minute.
func (c *clientConn) plainSpoken(err error) {
	var plain tls.RecordHeaderError
	if !errors.As(err, &plain) || plain.Conn == nil || len(bytes.Trim(plain.RecordHeader[:3], "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) > 0 {
		return
	}
	now := time.Now().Unix()
	if last := c.s.plainSaid.Load(); now-last >= 60 && c.s.plainSaid.CompareAndSwap(last, now) {
		c.s.log.Warn("a client spoke plain HTTP to a port that speaks TLS", "client", plain.Conn.RemoteAddr().String(), "listen", plain.Conn.LocalAddr().String())
	}
	plain.Conn.SetDeadline(time.Now().Add(plainLinger))
	if _, err := io.WriteString(plain.Conn, plainAnswer); err != nil {
		return
	}
	if half, ok := plain.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		io.CopyN(io.Discard, plain.Conn, plainRest)
	}
}

// Write is used by fasthttp alone. Of its own answers only those may pass that
// it makes when no handler ran; after an answer of ours was written to Conn,
// the one that it insists on writing is dropped here.
func (c *clientConn) Write(p []byte) (int, error) {
	if c.swallow {
		c.swallow = false
		return len(p), nil
	}
	return c.write(p)
}

// write writes what the client is to get.
func (c *clientConn) write(p []byte) (int, error) {
	if c.lean != nil {
		return c.lean.Write(p)
	}
	return c.Conn.Write(p)
}

// Close forgets the socket before its descriptor can be reused.
func (c *clientConn) Close() error {
	c.close.Do(func() {
		c.s.watch.remove(&c.socket)
		c.s.clients.remove(c)
		c.s.stats.Clients.Add(-1)
	})
	return c.Conn.Close()
}

// from appends the address of the client's machine; nothing, where it has none.
func (c *clientConn) from(dst []byte) []byte {
	switch nc := c.sock.(type) {
	case interface{ ip() netip.Addr }: // to spell it as package net does costs two objects
		ip := nc.ip().As16()
		return append(dst, ip[:]...)
	case *net.TCPConn:
		return append(dst, nc.RemoteAddr().(*net.TCPAddr).IP.To16()...)
	}
	return dst
}

// takeRequest hands over the head that was read last.
func (c *clientConn) takeRequest() request {
	head := c.guard.head
	c.guard.head = nil
	return newRequest(head)
}

// reset makes the coming close a reset: an answer without framing that ends
// early would look complete otherwise.
func (c *clientConn) reset() {
	if tc, ok := c.sock.(interface{ SetLinger(sec int) error }); ok {
		tc.SetLinger(0)
		c.sock.Close()
	}
}

// cut ends the connection from another goroutine, in the middle of whatever it
// is doing, as if the client had left.
func (c *clientConn) cut() {
	c.leave()
	c.sock.Close()
}

// clientSet holds the connections of clients that are open.
type clientSet struct {
	mu  sync.Mutex
	all map[*clientConn]struct{}
}

func (s *clientSet) add(c *clientConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*clientConn]struct{}{}
	}
	s.all[c] = struct{}{}
}

func (s *clientSet) remove(c *clientConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, c)
}

// cut ends every connection that is open, and says how many that were.
func (s *clientSet) cut() int {
	s.mu.Lock()
	all := make([]*clientConn, 0, len(s.all))
	for c := range s.all {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.cut()
	}
	return len(all)
}
