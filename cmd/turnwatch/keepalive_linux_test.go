package main

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestConnectionsGetTheirOptionsFromTheListener: as package net would set them on
// each.
func TestConnectionsGetTheirOptionsFromTheListener(t *testing.T) {
	options := func(listen func() (net.Listener, error)) (got [5]int) {
		ln, err := listen()
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		nc, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		raw, err := nc.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		raw.Control(func(fd uintptr) {
			for i, o := range [][2]int{{unix.SOL_SOCKET, unix.SO_KEEPALIVE}, {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE},
				{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT}, {unix.IPPROTO_TCP, unix.TCP_NODELAY}} {
				if got[i], err = unix.GetsockoptInt(int(fd), o[0], o[1]); err != nil {
					t.Fatal(err)
				}
			}
		})
		return got
	}
	got := options(func() (net.Listener, error) { return listen("-listen", "127.0.0.1:0") })
	if want := options(func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
