//go:build !linux

package proxy

import (
	"net"
	"sync"
	"sync/atomic"
)

// watcher does nothing on systems without epoll: there a client that has left
// is noticed by the next write to it.
type watcher struct{}

// socket is the end of a connection.
type socket struct {
	left atomic.Bool

	mu     sync.Mutex
	onGone func()
}

func newWatcher() (*watcher, error)                   { return &watcher{}, nil }
func (w *watcher) watch(nc net.Conn, s *socket) error { return nil }
func (w *watcher) remove(s *socket)                   {}
func (w *watcher) close()                             {}
