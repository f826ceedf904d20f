//go:build unix

package proxy

import (
	"io"
	"net"
	"os"
	"syscall"
)

// lean reads from a plain connection and holds a buffer only while there is
// something in it: a silent stream costs none. It takes the system calls that
// any read takes.
type lean struct {
	raw  syscall.RawConn
	bufs *buffers
	try  func(fd uintptr) bool // made once

	buf []byte // lent for the read in hand; nil while it waits
	n   int
	err error
}

func newLean(nc net.Conn, bufs *buffers) *lean {
	raw, err := nc.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil
	}
	l := &lean{raw: raw, bufs: bufs}
	l.try = l.once
	return l
}

// once tries to read, and reports false when the kernel is to be waited for.
func (l *lean) once(fd uintptr) bool {
	if l.buf == nil {
		l.buf = l.bufs.get(relayPiece)
		l.buf = l.buf[:cap(l.buf)]
	}
	for {
		l.n, l.err = syscall.Read(int(fd), l.buf)
		if l.err != syscall.EINTR {
			break
		}
	}
	if l.err == syscall.EAGAIN {
		l.bufs.put(l.buf)
		l.buf = nil
		return false
	}
	return true
}

// read reads into buf, or into a buffer that is lent when there is something to
// read, and returns it.
func (l *lean) read(buf []byte) (got []byte, n int, err error) {
	l.buf, l.n, l.err = buf, 0, nil
	err = l.raw.Read(l.try)
	got, l.buf = l.buf, nil
	switch {
	case err != nil:
		return got, 0, err
	case l.err != nil:
		return got, 0, os.NewSyscallError("read", l.err)
	case l.n == 0:
		return got, 0, io.EOF
	}
	return got, l.n, nil
}
