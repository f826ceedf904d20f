package main

import (
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
		removeStale(path)
	}
	ln, err := net.Listen(network, addr)
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

// removeStale removes the socket at path if nobody answers on it.
func removeStale(path string) {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
		return
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		os.Remove(path)
	}
}
