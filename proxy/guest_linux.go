package proxy

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// guest is a connection of a client that may last for one answer only. The watcher
// waits for it, with the one epoll entry by which it learns that the client has
// left; calls that never wait do the rest. To make it known to the runtime's poller,
// with its timers, and to close it there, costs as much as passing the answer on. A
// connection that stays settles there all the same: one that waits for half a second,
// or again, or to write.
type guest struct {
	hall *watcher
	sock *socket // by which the hall knows it
	peer netip.AddrPort

	mu     sync.Mutex
	rung   sync.Cond // what a waiting reader is to look at has changed
	fd     int       // -1: it has settled, or is closed
	holds  int       // of fd
	closed bool
	heard  bool      // there may be something to read
	called bool      // it is to settle
	waited int       // how often a reader has waited, and
	idle   bool      // whether one does
	limit  time.Time // of a reader's wait
	late   bool      // it was over when it was set: the hall waits for no other
	home   *os.File  // once it has settled
	raw    syscall.RawConn
}

// guestWaits is how often a reader waits in the hall: for the request, and for the
// end that comes after its answer.
const guestWaits = 2

func newGuest(fd int, hall *watcher, peer netip.AddrPort) *guest {
	g := &guest{hall: hall, fd: fd, peer: peer}
	g.rung.L = &g.mu
	return g
}

// ring has a reader that waits look again.
func (g *guest) ring() {
	g.mu.Lock()
	g.heard = true
	g.mu.Unlock()
	g.rung.Signal()
}

// serve has a guest watched that is being served. It reports false of one that
// waits.
func (g *guest) serve() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.idle {
		g.seat(false)
	}
	return !g.idle
}

// seat gives the guest its entry, unless it has left the hall. It is called under
// the lock, as is all that makes an entry or ends it: none is made of a descriptor
// that is about to be another's.
func (g *guest) seat(waits bool) {
	if g.home == nil && !g.closed {
		g.hall.seat(g.sock, g.fd, waits)
	}
}

// call has a reader settle that waits.
func (g *guest) call() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle {
		g.called = true
		g.rung.Signal()
	}
}

// hold returns the descriptor, which stays until it is dropped, or else where the
// guest has settled. A reader gets none whose time is over.
func (g *guest) hold(reads bool) (fd int, home syscall.RawConn, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.home != nil:
		return 0, g.raw, nil
	case g.closed:
		return 0, nil, net.ErrClosed
	case reads && g.late:
		return 0, nil, os.ErrDeadlineExceeded
	}
	g.holds++
	return g.fd, nil, nil
}

func (g *guest) drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds--
	g.vacate()
}

// vacate closes the descriptor when nobody needs it any more. It is called under
// the lock.
func (g *guest) vacate() {
	if g.holds == 0 && g.fd >= 0 && (g.closed || g.home != nil) {
		rawClose(g.fd)
		g.fd = -1
	}
}

// settle makes the guest known to the runtime's poller.
func (g *guest) settle() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return net.ErrClosed
	}
	if g.home != nil {
		return nil
	}
	fd := g.fd
	if g.holds > 0 { // whoever holds it is to find no other socket there
		var err error
		if fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
	}
	g.hall.leave(g.sock, g.fd)
	if g.holds == 0 {
		g.fd = -1
	}
	return g.moveIn(os.NewFile(uintptr(fd), "client"))
}

// moveIn ends settle.
func (g *guest) moveIn(home *os.File) (err error) {
	g.home = home
	g.rung.Signal()
	if g.raw, err = home.SyscallConn(); err == nil {
		err = home.SetReadDeadline(g.limit)
	}
	if err == nil {
		err = g.hall.add(home, g.sock)
	}
	return err
}

// await waits until there may be something to read, or something else to do.
func (g *guest) await() error {
	g.mu.Lock()
	if !g.heard {
		g.waited++
		g.seat(true)
	}
	for g.idle = true; !g.heard && !g.called && !g.closed && g.home == nil && !g.late; {
		g.rung.Wait()
	}
	g.idle, g.heard = false, false
	settle := g.called || g.waited > guestWaits
	g.mu.Unlock()
	if settle {
		return g.settle()
	}
	return nil
}

// guestRaw is a guest for calls that never wait.
type guestRaw guest

// Control runs f with the descriptor, which stays until f returns.
func (r *guestRaw) Control(f func(fd uintptr)) error {
	g := (*guest)(r)
	fd, home, err := g.hold(false)
	switch {
	case err != nil:
		return err
	case home != nil:
		return home.Control(f)
	}
	defer g.drop()
	f(uintptr(fd))
	return nil
}

// Read runs f whenever there may be something to read, until it reports true.
func (r *guestRaw) Read(f func(fd uintptr) bool) error {
	g := (*guest)(r)
	for {
		switch done, home, err := g.try(f, true); {
		case done || err != nil:
			return err
		case home != nil:
			return home.Read(f)
		}
		if err := g.await(); err != nil {
			return err
		}
	}
}

// Write runs f until it reports true. A guest that has to wait settles.
func (r *guestRaw) Write(f func(fd uintptr) bool) error {
	g := (*guest)(r)
	done, home, err := g.try(f, false)
	if home == nil && !done && err == nil {
		err = g.settle()
		home = g.raw
	}
	if done || err != nil {
		return err
	}
	return home.Write(f)
}

// try runs f once, unless the guest has settled: then it returns where.
func (g *guest) try(f func(fd uintptr) bool, reads bool) (done bool, home syscall.RawConn, err error) {
	fd, home, err := g.hold(reads)
	if home != nil || err != nil {
		return false, home, err
	}
	defer g.drop()
	return f(uintptr(fd)), nil, nil
}

// SyscallConn is the guest, for calls that never wait.
func (g *guest) SyscallConn() (syscall.RawConn, error) { return (*guestRaw)(g), nil }

// Read settles: whoever waits otherwise reads by SyscallConn.
func (g *guest) Read(p []byte) (int, error) {
	if err := g.settle(); err != nil {
		return 0, err
	}
	return g.home.Read(p)
}

// Write settles.
func (g *guest) Write(p []byte) (int, error) {
	if err := g.settle(); err != nil {
		return 0, err
	}
	return g.home.Write(p)
}

// SetReadDeadline bounds the wait of a reader. In the hall it may be half a second
// more.
func (g *guest) SetReadDeadline(t time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.home != nil {
		return g.home.SetReadDeadline(t)
	}
	g.limit, g.late = t, !t.IsZero() && !time.Now().Before(t)
	if g.late {
		g.rung.Signal()
	}
	return nil
}

// SetWriteDeadline bounds the wait of a writer, which settles.
func (g *guest) SetWriteDeadline(t time.Time) error {
	if err := g.settle(); err != nil {
		return err
	}
	return g.home.SetWriteDeadline(t)
}

// SetDeadline does both.
func (g *guest) SetDeadline(t time.Time) error {
	return errors.Join(g.SetReadDeadline(t), g.SetWriteDeadline(t))
}

// SetLinger makes the coming Close a reset, if sec is 0.
func (g *guest) SetLinger(sec int) (err error) {
	l := unix.Linger{Onoff: 1, Linger: int32(sec)}
	ctl := (*guestRaw)(g).Control(func(fd uintptr) { err = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &l) })
	return errors.Join(ctl, err)
}

// RemoteAddr is the client's address.
func (g *guest) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(g.peer) }

func (g *guest) ip() netip.Addr { return g.peer.Addr() }

// LocalAddr is asked by nobody.
func (g *guest) LocalAddr() net.Addr { return nil }

// Close closes it, once nobody holds it any more, and ends whoever waits.
func (g *guest) Close() error {
	home, err := g.end()
	if home == nil {
		return err
	}
	return home.Close() // waits for those who hold it, and so not under the lock
}

// end is Close, less that of the home.
func (g *guest) end() (home *os.File, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, net.ErrClosed
	}
	g.closed = true
	g.rung.Broadcast()
	g.vacate()
	return g.home, nil
}

// plain reports whether a connection is nothing but a socket.
func plain(nc net.Conn) bool {
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn, *guest:
		return true
	}
	return false
}
