package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

// listen opens the listener that a flag names. A socket file that nobody
// listens on any more, as a killed process leaves it, is replaced.
func listen(name, addr string) (net.Listener, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
		if err := clearPath(name, addr); err != nil {
			return nil, err
		}
	}
	var lc net.ListenConfig
	lc.SetMultipathTCP(false) // nobody asks for it, and each accept would be dearer
	ln, err := lc.Listen(context.Background(), network, addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, hinted{fmt.Errorf("%s %s is in use by another process", name, addr), "is a turnwatch running already? Choose another address with " + name}
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s %s: not allowed to listen there: %w", name, addr, err)
	case err != nil:
		return nil, fmt.Errorf("%s %s: cannot listen there: %w", name, addr, err)
	}
	return ln, nil
}

// admitAll lets every user connect to the socket at addr, if it is one: agents
// seldom run as the sidecar's user. Who may pass the folder decides.
func admitAll(addr string) {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok && path[0] != '@' {
		os.Chmod(path, 0o666)
	}
}

// clearPath removes the socket at path if nobody answers on it. What is no
// socket stays, and is an error.
func clearPath(name, path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil
	case info.Mode().Type() != os.ModeSocket:
		return hinted{fmt.Errorf("%s unix:%s: something that is no socket has that name", name, path), "remove it, or choose another path: it is left as it is"}
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		os.Remove(path)
	}
	return nil
}
