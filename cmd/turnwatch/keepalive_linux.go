package main

import (
	"context"
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// errKeepAlive is a kernel that hands no keep-alive down.
var errKeepAlive = errors.New("it cannot be handed down how a connection is kept alive")

// open listens for clients. A connection gets from its listener what is the same
// for all of them, so that it need not be asked for at each.
func open(network, addr string) (net.Listener, error) {
	lc := net.ListenConfig{Control: keepAlive, KeepAlive: -1}
	ln, err := lc.Listen(context.Background(), network, addr)
	if errors.Is(err, errKeepAlive) {
		return net.Listen(network, addr)
	}
	return ln, err
}

// keepAlive has the connections of a listener find out that their client's
// machine is gone, in as much time as package net would give it.
func keepAlive(network, _ string, c syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	var errs [4]error
	err := c.Control(func(fd uintptr) {
		errs = [...]error{
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1),
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15),
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 15),
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 9),
		}
	})
	if errors.Join(append(errs[:], err)...) != nil {
		return errKeepAlive
	}
	return nil
}
