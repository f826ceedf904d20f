//go:build unix

package proxy

import (
	"io"
	"net"
	"os"
	"syscall"
)

// lean reads and writes a plain connection by calls of its own, as many as any
// reader and writer takes. They never wait, so that the runtime need not be told of
// them: it would look every 20 µs whether they do, and wake threads for what else
// there is to run. A read holds a buffer only while there is something in it: a
// silent stream costs none. One may read and another one write.
type lean struct {
	raw  syscall.RawConn
	bufs *buffers

	take, give func(fd uintptr) bool // made once

	buf  []byte // of the read in hand
	lent bool   // buf is, and nil while it waits
	n    int
	bad  syscall.Errno

	rest  []byte // of the write in hand
	wrong syscall.Errno
}

// mostAtOnce bounds what one call writes: the runtime can stop nobody who copies.
const mostAtOnce = 256 << 10

func newLean(nc net.Conn, bufs *buffers) *lean {
	raw, err := nc.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil
	}
	l := &lean{raw: raw, bufs: bufs}
	l.take, l.give = l.takeOnce, l.giveOnce
	return l
}

// takeOnce tries to read, and reports false when the kernel is to be waited for.
func (l *lean) takeOnce(fd uintptr) bool {
	if l.buf == nil {
		l.buf = l.bufs.get(relayPiece)
		l.buf = l.buf[:cap(l.buf)]
	}
	for l.bad = syscall.EINTR; l.bad == syscall.EINTR; {
		l.n, l.bad = rawRead(int(fd), l.buf)
	}
	if l.bad != syscall.EAGAIN {
		return true
	}
	if l.lent {
		l.bufs.put(l.buf)
		l.buf = nil
	}
	return false
}

// read reads into buf, which was lent, or into a buffer that is lent when there is
// something to read, and returns it.
func (l *lean) read(buf []byte) (got []byte, n int, err error) {
	l.buf, l.lent = buf, true
	n, err = l.await()
	got, l.buf = l.buf, nil
	return got, n, err
}

// Read reads into p, whoever it belongs to.
func (l *lean) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	l.buf, l.lent = p, false
	n, err = l.await()
	l.buf = nil
	return n, err
}

func (l *lean) await() (int, error) {
	l.n, l.bad = 0, 0
	switch err := l.raw.Read(l.take); {
	case err != nil:
		return 0, err
	case l.bad != 0:
		return 0, os.NewSyscallError("read", l.bad)
	case l.n == 0:
		return 0, io.EOF
	}
	return l.n, nil
}

// giveOnce writes what is taken, and reports false when there is more.
func (l *lean) giveOnce(fd uintptr) bool {
	for len(l.rest) > 0 {
		switch n, errno := rawWrite(int(fd), l.rest[:min(len(l.rest), mostAtOnce)]); errno {
		case 0:
			l.rest = l.rest[n:]
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		default:
			l.wrong = errno
			return true
		}
	}
	return true
}

// Write writes all of p, or says why not.
func (l *lean) Write(p []byte) (n int, err error) {
	l.rest, l.wrong = p, 0
	if err = l.raw.Write(l.give); err == nil && l.wrong != 0 {
		err = os.NewSyscallError("write", l.wrong)
	}
	n, l.rest = len(p)-len(l.rest), nil
	return n, err
}
