//go:build !linux

package main

import "net"

// open listens for clients.
func open(network, addr string) (net.Listener, error) { return net.Listen(network, addr) }
