//go:build unix && !linux

package proxy

import "syscall"

// The calls of a socket that never wait, as Linux has them.

func rawRead(fd int, b []byte) (int, syscall.Errno) {
	n, err := syscall.Read(fd, b)
	errno, _ := err.(syscall.Errno)
	return n, errno
}

func rawWrite(fd int, b []byte) (int, syscall.Errno) {
	n, err := syscall.Write(fd, b)
	errno, _ := err.(syscall.Errno)
	return n, errno
}

func rawPeek(fd int) syscall.Errno {
	var b [1]byte
	_, _, err := syscall.Recvfrom(fd, b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	errno, _ := err.(syscall.Errno)
	return errno
}
