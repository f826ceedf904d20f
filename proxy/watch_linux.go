package proxy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watcher tells connections that their peer has gone, and waits for the guests
// among them. It is one epoll instance and one goroutine, edge-triggered, and on
// EPOLLRDHUP alone for who is no guest: one system call a connection, none a request,
// and neither data passing by nor pipelined bytes hide a FIN or wake it for nothing.
// The runtime's poller waits for it: a thread that did would have to be woken, and
// watched by another one.
type watcher struct {
	ep   int
	poll *os.File // ep, as the runtime's poller knows it
	raw  syscall.RawConn
	done chan struct{}

	mu    sync.Mutex
	gen   int32
	socks map[int32]*socket // by descriptor
	young []*socket         // of guests, to be looked at
	aged  []*socket         // those that are, or nothing
	armed bool              // the time for it is set
	years int               // how often it has come
}

// A guest is looked at when it is so many years old, and one that waits then when it
// has stayed for so many more: whoever lasts no longer need not be watched for its
// end unless it is waited for, and need not settle.
const (
	year  = 10 * time.Millisecond
	youth = 2
	stay  = 50
)

// socket is the end of a connection that the watcher knows. The zero socket is
// one that was never watched.
type socket struct {
	fd, gen int32 // as it is watched; gen 0: it is not
	over    bool  // it is not to be, any more
	listed  int   // its place among the young, from 1; 0: none
	due     int   // the year in which it is looked at
	elder   bool  // it was, and waited
	guest   *guest
	left    atomic.Bool

	mu     sync.Mutex
	onGone func()
}

func newWatcher() (*watcher, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watch for clients that leave: %w", err)
	}
	w := &watcher{ep: ep, done: make(chan struct{}), socks: map[int32]*socket{}}
	if w.poll, w.raw, err = polled(ep, "watcher"); err != nil {
		return nil, fmt.Errorf("watch for clients that leave: %w", err)
	}
	go w.run()
	return w, nil
}

// polled has the runtime's poller wait for an epoll instance, as for any other
// descriptor. After an error that is closed.
func polled(ep int, name string) (*os.File, syscall.RawConn, error) {
	unix.SetNonblock(ep, true)
	f := os.NewFile(uintptr(ep), name)
	err := f.SetReadDeadline(time.Time{})
	var raw syscall.RawConn
	if err == nil { // it is polled
		raw, err = f.SyscallConn()
	}
	if err != nil {
		f.Close()
	}
	return f, raw, err
}

// watch begins to watch a client's connection, whose end s will learn of. Guests
// are left alone at first.
func (w *watcher) watch(nc net.Conn, s *socket) error {
	switch c := nc.(type) {
	case *guest:
		c.sock, s.guest = s, c
		w.meet(s, youth)
		return nil
	case syscall.Conn:
		return w.add(c, s)
	}
	return fmt.Errorf("a connection of type %T has no descriptor", nc)
}

// add begins to watch c, whose end s will learn of.
func (w *watcher) add(c syscall.Conn, s *socket) error {
	rc, err := c.SyscallConn()
	if err != nil {
		return err
	}
	ctl := rc.Control(func(fd uintptr) {
		w.mu.Lock()
		defer w.mu.Unlock()
		err = w.enter(s, int(fd), 0)
	})
	return errors.Join(ctl, err)
}

// seat has the hall watch a guest, and look at one that waits.
func (w *watcher) seat(s *socket, fd int, waits bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.enter(s, fd, unix.EPOLLIN) // one that cannot be waited for settles soon
	if waits {
		w.list(s, youth)
	}
}

// meet has a guest looked at in so many years.
func (w *watcher) meet(s *socket, years int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list(s, years)
}

// enter makes the entry of a socket, unless there is one. It is called under the
// lock, as are the next three.
func (w *watcher) enter(s *socket, fd int, more uint32) error {
	if s.gen != 0 || s.over {
		return nil
	}
	w.gen = max(w.gen+1, 1)
	ev := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET | more, Fd: int32(fd), Pad: w.gen}
	if errno := rawCtl(w.ep, unix.EPOLL_CTL_ADD, fd, &ev); errno != 0 {
		return os.NewSyscallError("epoll_ctl", errno)
	}
	s.fd, s.gen = ev.Fd, ev.Pad
	w.socks[s.fd] = s
	return nil
}

// list is what meet does.
func (w *watcher) list(s *socket, years int) {
	if s.listed > 0 || s.over {
		return
	}
	w.young = append(w.young, s)
	s.listed, s.due = len(w.young), w.years+years
	w.arm()
}

// arm sets the time for the young, if there are any.
func (w *watcher) arm() {
	if len(w.young) > 0 && !w.armed {
		w.armed = true
		w.poll.SetReadDeadline(time.Now().Add(year))
	}
}

func (w *watcher) unlist(s *socket) {
	if s.listed == 0 {
		return
	}
	last := len(w.young) - 1
	moved := w.young[last]
	w.young[s.listed-1], moved.listed = moved, s.listed
	w.young[last], w.young = nil, w.young[:last]
	s.listed = 0
}

// grow looks at the guests whose time has come: who is being served is watched
// from now on, and who goes on waiting settles.
func (w *watcher) grow() {
	w.pass()
	for _, s := range w.aged {
		switch {
		case s.guest.serve():
		case s.elder:
			s.guest.call()
		default:
			s.elder = true
			w.meet(s, stay)
		}
	}
	clear(w.aged)
	w.aged = w.aged[:0]
}

// pass parts those from the young.
func (w *watcher) pass() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.years++
	for i := len(w.young) - 1; i >= 0; i-- {
		if s := w.young[i]; s.due <= w.years {
			w.unlist(s)
			w.aged = append(w.aged, s)
		}
	}
	w.armed = false
	w.poll.SetReadDeadline(time.Time{})
	w.arm()
}

// leave ends the entry of a guest that settles, so that it can have another.
func (w *watcher) leave(s *socket, fd int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.gen != 0 {
		w.forget(s)
		rawCtl(w.ep, unix.EPOLL_CTL_DEL, fd, nil)
	}
}

// forget is called under the lock.
func (w *watcher) forget(s *socket) {
	if w.socks[s.fd] == s {
		delete(w.socks, s.fd)
	}
	s.gen = 0
}

// remove forgets s for good. It must run before the descriptor is closed, because
// the kernel gives the number to the next connection; the generation covers an
// event that is already on its way.
func (w *watcher) remove(s *socket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget(s)
	s.over = true
	w.unlist(s)
}

// close ends the watch and waits for its goroutine.
func (w *watcher) close() {
	w.poll.Close()
	<-w.done
}

func (w *watcher) run() {
	defer close(w.done)
	var evs [256]unix.EpollEvent
	var n int
	wait := func(uintptr) bool {
		n = rawWait(w.ep, evs[:])
		return n > 0
	}
	for {
		switch err := w.raw.Read(wait); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			w.grow()
		case err != nil:
			return
		default:
			w.tell(evs[:n])
		}
	}
}

func (w *watcher) tell(evs []unix.EpollEvent) {
	for _, e := range evs {
		s := w.find(e.Fd, e.Pad)
		if s == nil {
			continue
		}
		if e.Events&^unix.EPOLLIN != 0 {
			s.leave()
		}
		if s.guest != nil {
			s.guest.ring()
		}
	}
}

func (w *watcher) find(fd, gen int32) *socket {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.socks[fd]; s != nil && s.gen == gen {
		return s
	}
	return nil
}
