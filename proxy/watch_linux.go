package proxy

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// watcher tells connections that their peer has gone. It is one epoll instance
// and one goroutine, edge-triggered on EPOLLRDHUP alone: one system call a
// connection, none a request, and neither data passing by nor pipelined bytes
// hide a FIN or wake it for nothing.
type watcher struct {
	ep, wake int
	done     chan struct{}

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
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(ep)
		return nil, fmt.Errorf("watch for clients that leave: %w", err)
	}
	w := &watcher{ep: ep, wake: wake, done: make(chan struct{}), socks: map[int32]*socket{}}
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(wake)}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, wake, &ev); err != nil {
		unix.Close(ep)
		unix.Close(wake)
		return nil, fmt.Errorf("watch for clients that leave: %w", err)
	}
	go w.run()
	return w, nil
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
	unix.Write(w.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	<-w.done
	unix.Close(w.wake)
	unix.Close(w.ep)
}

func (w *watcher) run() {
	defer close(w.done)
	var evs [256]unix.EpollEvent
	for {
		n, err := unix.EpollWait(w.ep, evs[:], -1)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		for _, e := range evs[:n] {
			if e.Fd == int32(w.wake) {
				return
			}
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
