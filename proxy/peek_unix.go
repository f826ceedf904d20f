//go:build unix

package proxy

import "syscall"

// clean reports whether nothing has come over the idle connection: neither its
// end nor bytes that no request asked for.
func (up *upConn) clean() bool {
	clean := false
	err := up.raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		clean = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	})
	return err == nil && clean
}
