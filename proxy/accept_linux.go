package proxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// quick accepts the connections of a TCP listener with one call for each. Package
// net asks and tells the kernel four things about every one of them, which is a
// tenth of what an answer costs that has a connection for itself.
type quick struct {
	net.Listener
	hall *watcher
	file *os.File // the same socket, as one may wait for it
	raw  syscall.RawConn
	take func(fd uintptr) bool // made once

	closed atomic.Bool

	// Of the accept in hand.
	fd    int
	peer  unix.RawSockaddrInet6
	errno unix.Errno
}

// quicken makes the connections of a TCP listener guests of the hall. Another
// listener stays as it is.
func quicken(ln net.Listener, hall *watcher) (net.Listener, error) {
	tl, ok := ln.(*net.TCPListener)
	if !ok {
		return ln, nil
	}
	q := &quick{Listener: ln, hall: hall}
	q.take = q.takeOnce
	err := handDown(tl)
	if err == nil {
		q.file, err = tl.File()
	}
	if err == nil {
		q.raw, err = q.file.SyscallConn()
	}
	if err != nil {
		ln.Close()
		return nil, fmt.Errorf("prepare to accept: %w", err)
	}
	return q, nil
}

// handDown sets on a listener what package net sets on each connection: they get
// it from there.
func handDown(ln *net.TCPListener) error {
	raw, err := ln.SyscallConn()
	if err != nil {
		return err
	}
	ctl := raw.Control(func(fd uintptr) {
		for _, o := range [][3]int{{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1}, {unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15}, {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 15}, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 9}} {
			err = errors.Join(err, os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), o[0], o[1], o[2])))
		}
	})
	return errors.Join(ctl, err)
}

// Accept returns the next connection.
func (q *quick) Accept() (net.Conn, error) {
	switch err := q.raw.Read(q.take); {
	case err != nil && q.closed.Load(): // os has an error of its own for it
		return nil, net.ErrClosed
	case err != nil:
		return nil, err
	case q.errno != 0:
		return nil, os.NewSyscallError("accept4", q.errno)
	}
	return newGuest(q.fd, q.hall, peerAddr(&q.peer)), nil
}

// takeOnce accepts a connection, and reports false while there is none.
func (q *quick) takeOnce(fd uintptr) bool {
	size := uint32(unsafe.Sizeof(q.peer))
	n, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, fd, uintptr(unsafe.Pointer(&q.peer)), uintptr(unsafe.Pointer(&size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	q.fd, q.errno = int(n), errno
	return errno != unix.EAGAIN
}

// peerAddr is the address that the kernel tells of a client.
func peerAddr(sa *unix.RawSockaddrInet6) netip.AddrPort {
	var port [2]byte
	binary.NativeEndian.PutUint16(port[:], sa.Port)
	ip := netip.AddrFrom16(sa.Addr)
	if sa.Family == unix.AF_INET {
		ip = netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(sa)).Addr)
	}
	return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(port[:]))
}

// Close ends an Accept that waits.
func (q *quick) Close() error {
	q.closed.Store(true)
	return errors.Join(q.Listener.Close(), q.file.Close())
}
