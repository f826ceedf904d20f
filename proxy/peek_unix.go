//go:build unix

package proxy

import "syscall"

// clean reports whether nothing has come over the idle connection: neither its
// end nor bytes that no request asked for.
func (up *upConn) clean() bool {
	if up.peek == nil {
		up.peek = func(fd uintptr) bool {
			_, _, err := syscall.Recvfrom(int(fd), up.peeked[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			up.silent = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
			return true
		}
	}
	up.silent = false
	return up.raw.Read(up.peek) == nil && up.silent
}
