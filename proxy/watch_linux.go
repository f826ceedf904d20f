package proxy

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watcher tells connections that their peer has gone. It is one epoll instance
// and one goroutine, edge-triggered on EPOLLRDHUP alone: one system call a
// connection, none a request, and neither data passing by nor pipelined bytes
// hide a FIN or wake it for nothing. The runtime's poller waits for it: a thread
// that did would have to be woken, and watched by another one.
type watcher struct {
	ep   int
	poll *os.File // ep, as the runtime's poller knows it
	raw  syscall.RawConn
	done chan struct{}

	mu    sync.Mutex
	gen   int32
	socks map[int32]*socket // by descriptor
}

// socket is the end of a connection that the watcher knows. The zero socket is
// one that was never watched.
type socket struct {
	fd, gen int32
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

// add begins to watch c, whose end s will learn of.
func (w *watcher) add(c syscall.Conn, s *socket) error {
	rc, err := c.SyscallConn()
	if err != nil {
		return err
	}
	ctl := rc.Control(func(fd uintptr) {
		w.mu.Lock()
		w.gen++
		s.fd, s.gen = int32(fd), w.gen
		w.socks[s.fd] = s
		w.mu.Unlock()
		ev := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET, Fd: s.fd, Pad: s.gen}
		err = unix.EpollCtl(w.ep, unix.EPOLL_CTL_ADD, int(fd), &ev)
	})
	if ctl != nil {
		return ctl
	}
	if err != nil {
		w.remove(s)
	}
	return err
}

// remove forgets s. It must run before the descriptor is closed, because the
// kernel gives the number to the next connection; the generation covers an
// event that is already on its way.
func (w *watcher) remove(s *socket) {
	w.mu.Lock()
	if w.socks[s.fd] == s {
		delete(w.socks, s.fd)
	}
	w.mu.Unlock()
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
	for w.raw.Read(wait) == nil {
		for _, e := range evs[:n] {
			if s := w.find(e.Fd, e.Pad); s != nil {
				s.leave()
			}
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
