//go:build unix && !linux

package proxy

import "syscall"

func rawPeek(fd int) syscall.Errno {
	var b [1]byte
	_, _, err := syscall.Recvfrom(fd, b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	errno, _ := err.(syscall.Errno)
	return errno
}
