//go:build unix

package proxy

import "syscall"

// peek asks a socket, without waiting, whether anything has come over it: bytes
// or its end. A value serves one socket and allocates once.
type peek struct {
	raw    syscall.RawConn
	ask    func(fd uintptr) bool
	b      [1]byte
	silent bool
}

func newPeek(c syscall.Conn) (*peek, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	p := &peek{raw: raw}
	p.ask = func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), p.b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		p.silent = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	}
	return p, nil
}

// nothing reports whether nothing has come.
func (p *peek) nothing() bool {
	p.silent = false
	return p.raw.Read(p.ask) == nil && p.silent
}
