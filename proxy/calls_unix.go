//go:build unix && (!linux || race)

package proxy

import "syscall"

// The calls of a socket that never wait. The race detector takes what passes over a
// socket for order in time, and knows of these.

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
