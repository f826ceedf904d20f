package proxy

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// loops share the answers that stream, in turn.
type loops struct {
	all  []*loop
	next atomic.Uint32
}

// newLoops begins so many loops; a negative number is none.
func newLoops(s *Server, n int) (*loops, error) {
	all := &loops{}
	for range n {
		l, err := newLoop(s.cfg.IdleTimeout, s.cfg.MaxLag, &s.stats)
		if err != nil {
			all.close()
			return nil, err
		}
		all.all = append(all.all, l)
	}
	return all, nil
}

func (ls *loops) close() {
	for _, l := range ls.all {
		l.close()
	}
}

// carriage is the rest of an answer that a loop relays. It belongs to the loop
// while that has the stream, else to the exchange's goroutine.
//
// What each event needs stands here and together: between two events of a stream
// come those of all others, and by then the caches have lost every line of memory
// that has to be fetched again.
type carriage struct {
	stream
	client int
	f      framing
	stats  *Stats
	proof  *proof
	reads  sampler
	late   backlog
	x      *exchange

	err error

	// What the client did not take at once, and what is known of it.
	slow   []byte
	sent   int
	before framing
	passed int
	done   bool
	bad    error
}

// carry has a loop relay the rest of an answer, and reports whether it did: TLS
// and what is still being sent the request are not for it.
func (x *exchange) carry(f *framing) (carried bool, err error) {
	ls := x.s.loops
	if len(ls.all) == 0 || x.up.lean == nil || x.c.Conn != x.c.sock || x.body.pending != nil && x.body.doneIn.Load() == 0 {
		return false, nil
	}
	raw, err := x.c.sock.(syscall.Conn).SyscallConn()
	if err != nil || x.up.takeOut() != nil {
		return false, nil
	}
	defer x.up.bringBack(false) // after a panic, too
	x.s.buffers.put(x.buf)
	x.buf = nil
	c := &carriage{stream: stream{up: x.up.fd, back: make(chan struct{}, 1)}, x: x, f: *f, stats: &x.s.stats, proof: x.proof, late: x.late}
	c.of, x.late = c, backlog{} // one holder: what broke is not given back twice
	err = c.run(ls.all[int(ls.next.Add(1))%len(ls.all)], raw)
	*f, x.late = c.f, c.late
	if errors.Is(err, errNotTaken) && x.up.bringBack(true) {
		return false, nil
	}
	keep := err == nil && x.ended && !x.extra && f.kind != closedBody
	if !x.up.bringBack(keep) && keep {
		x.extra = true // what is lost is not pooled
	}
	return true, err
}

// errNotTaken is a loop that cannot take a stream: the goroutine relays it.
var errNotTaken = errors.New("the loop does not take it")

// run hands the stream to the loop until its end. What a slow client does not
// take is written here, and meanwhile nothing more is read from the server.
func (c *carriage) run(l *loop, raw syscall.RawConn) error {
	for {
		var err error
		held := raw.Control(func(fd uintptr) { // a descriptor that is closed meanwhile stays ours
			c.client = int(fd)
			err = l.carry(&c.stream)
		})
		switch err = errors.Join(held, err); {
		case c.broken != nil:
			panic(c.broken)
		case held != nil:
			return errClientGone
		case err != nil:
			return &stageError{stageBody, errors.Join(errNotTaken, err)}
		case c.lost != nil:
			return c.silent(c.lost)
		case c.slow == nil || !c.catchUp():
			return c.err
		}
	}
}

// pass passes on one read, on the loop's thread, and reports whether more is
// to come of the answer.
func (c *carriage) pass(l *loop, b []byte) (more bool) {
	c.proof.took(b)
	w := c.reads.next(c.late.o != nil)
	before := c.f
	n, done, bad := c.f.pass(b)
	l.passed += int64(n)
	c.x.said(done)
	sent, err := writeNow(c.client, b[:n])
	c.proof.gave(b[:sent])
	if err != nil {
		c.err = errClientGone
		return false
	}
	if sent < n {
		c.slow = append(c.x.s.buffers.get(len(b)), b...)
		c.sent, c.before, c.passed, c.done, c.bad = sent, before, n, done, bad
		return false
	}
	w.lap(&c.stats.chunk)
	more = c.settle(before, b, n, done, bad)
	w.lap(&c.stats.judgeChunk)
	return more
}

// owes reports whether the judge has put aside as much of the stream as it can.
func (c *carriage) owes() bool { return c.late.full() }

// pay judges what was put aside.
func (c *carriage) pay() {
	w := c.reads.next(true)
	c.late.o.guarded(c.late.settle)
	w.lap(&c.stats.judgeChunk)
}

// settle ends what pass began.
func (c *carriage) settle(before framing, b []byte, n int, done bool, bad error) (more bool) {
	c.late.give(before, b[:n])
	if bad == nil && !done && n == len(b) {
		return true
	}
	if bad != nil {
		c.err = &stageError{stageBody, bad}
		return false
	}
	c.x.ended, c.x.extra = done, n < len(b)
	return !done
}

// catchUp writes what the client did not take.
func (c *carriage) catchUp() (more bool) {
	b := c.slow
	c.slow = nil
	defer c.x.s.buffers.put(b)
	if c.err = c.x.toClient(b[c.sent:c.passed]); c.err != nil {
		return false
	}
	return c.settle(c.before, b, c.passed, c.done, c.bad)
}

// silent is the error of a server that says no more.
func (c *carriage) silent(err error) error {
	x := c.x
	switch x.timedOut = errors.Is(err, os.ErrDeadlineExceeded); {
	case x.timedOut:
		return stageIdle.silence(x.s.cfg.IdleTimeout)
	case x.closedWell(&c.f, err):
		x.ended = true
		return nil
	}
	return &stageError{stageBody, err}
}

// takeOut takes the socket out of the runtime's poller, which would wake a
// thread of its own for all that comes. The way out is a second descriptor,
// which nonblocking mode is inherited by, and the end of the first.
func (up *upConn) takeOut() error {
	up.mu.Lock()
	defer up.mu.Unlock()
	if up.shut {
		return net.ErrClosed
	}
	raw, err := up.sock.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	ctl := raw.Control(func(fd uintptr) { up.fd, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3) })
	if err = errors.Join(ctl, err); err != nil {
		up.fd = 0
		return err
	}
	up.sock.Close()
	return nil
}

// bringBack ends that: the socket is the runtime's again, or closed. It reports
// whether it can be used.
func (up *upConn) bringBack(use bool) bool {
	up.mu.Lock()
	defer up.mu.Unlock()
	if up.fd == 0 {
		return false
	}
	nc := plainConn{os.NewFile(uintptr(up.fd), "upstream")}
	up.fd = 0
	if !use || up.shut {
		nc.Close()
		up.shut = true
		return false
	}
	up.Conn, up.sock = nc, nc
	up.lean, up.limited = newLean(nc, up.bufs), false
	peek, err := newPeek(nc)
	up.peek = peek
	return err == nil
}

// plainConn is a socket as the runtime's poller has files: net.FileConn asks the
// kernel a dozen things about it that were asked when it was dialled.
type plainConn struct{ *os.File }

// LocalAddr and RemoteAddr are asked by nobody.
func (plainConn) LocalAddr() net.Addr  { return nil }
func (plainConn) RemoteAddr() net.Addr { return nil }

// hangUp closes a socket that a loop reads from: the loop learns of it at once,
// and the descriptor stays until it has let go.
func (up *upConn) hangUp() error { return unix.Shutdown(up.fd, unix.SHUT_RDWR) }
