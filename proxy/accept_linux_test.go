package proxy

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// options are those of a connection that package net sets.
func options(t *testing.T, nc net.Conn) (got [5]int) {
	t.Helper()
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

// TestGuestIsWhatPackageNetAccepts: the options and the address are the same, for
// either family.
func TestGuestIsWhatPackageNetAccepts(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		want, _ := guestAt(t, addr, false)
		got, c := guestAt(t, addr, true)
		if _, ok := got.(*guest); !ok {
			t.Fatalf("%s: got a %T", addr, got)
		}
		if got, want := options(t, got), options(t, want); got != want {
			t.Errorf("%s: options: got %v, want %v", addr, got, want)
		}
		if got, want := got.RemoteAddr().String(), c.LocalAddr().String(); got != want {
			t.Errorf("%s: address: got %s, want %s", addr, got, want)
		}
	}
}

// guestAt accepts a connection, as a guest or as package net does.
func guestAt(t *testing.T, addr string, quick bool) (accepted, client net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if quick {
		if ln, err = quicken(ln, hall(t)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { ln.Close() })
	client, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err = ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); accepted.Close() })
	return accepted, client
}

func hall(t *testing.T) *watcher {
	t.Helper()
	w, err := newWatcher()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

// TestConnectionThatComesWithTheCloseIsServed: what was accepted is not lost.
func TestConnectionThatComesWithTheCloseIsServed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if ln, err = quicken(ln, hall(t)); err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ln.(*quick).closed.Store(true) // Close has come as far as this
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}
