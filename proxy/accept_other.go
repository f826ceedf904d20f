//go:build !linux

package proxy

import "net"

// quicken leaves a listener as it is.
func quicken(ln net.Listener, _ *watcher) (net.Listener, error) { return ln, nil }

// plain reports whether a connection is nothing but a socket.
func plain(nc net.Conn) bool {
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}
