//go:build !unix

package proxy

import "net"

// lean is not to be had here: reads hold their buffer while they wait.
type lean struct{}

func newLean(nc net.Conn, bufs *buffers) *lean { return nil }

func (l *lean) read(buf []byte) (got []byte, n int, err error) { panic("proxy: no lean read") }

func (l *lean) Read(p []byte) (int, error) { panic("proxy: no lean read") }

func (l *lean) Write(p []byte) (int, error) { panic("proxy: no lean write") }
