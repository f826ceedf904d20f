package proxy_test

import (
	"fmt"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// reserve takes a port on which nobody listens, and nobody else can while the test lasts. A
// port that is only let go may be another's a moment later.
func reserve(t testing.TB) (fd int, addr string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	unix.CloseOnExec(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fd, fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)
}

// dead is the URL of a server that is not there.
func dead(t testing.TB) string {
	t.Helper()
	_, addr := reserve(t)
	return "http://" + addr
}

// listenOn begins to listen on a port that is reserved.
func listenOn(t testing.TB, fd int) net.Listener {
	t.Helper()
	if err := unix.Listen(fd, 128); err != nil {
		t.Fatal(err)
	}
	own, err := unix.Dup(fd) // which goes with its file
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(own), "reserved")
	defer f.Close()
	ln, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}
