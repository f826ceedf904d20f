//go:build unix

package proxy

import "syscall"

// peek asks a socket, without waiting, whether anything has come over it: bytes
// or its end. A value serves one socket and allocates once.
type peek struct {
	raw    syscall.RawConn
	ask    func(fd uintptr) bool
	silent bool
}

func newPeek(c syscall.Conn) (*peek, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	p := &peek{raw: raw}
	p.ask = func(fd uintptr) bool {
		p.silent = rawPeek(int(fd)) == syscall.EAGAIN
		return true
	}
	return p, nil
}

// nothing reports whether nothing has come.
func (p *peek) nothing() bool {
	p.silent = false
	return p.raw.Read(p.ask) == nil && p.silent
}
