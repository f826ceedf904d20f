package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
)

// maxLines may wait for the log to take them.
const maxLines = 1024

// lines is the way of the log's lines out of the process. From begin to end nobody waits
// who has something to say: a pipe that nobody empties, or a disk that hangs, must not
// keep the process from hearing the signal that ends it. Lines that find no room are left
// out, and how many is said when there is some again. Those that wait are lost when the
// process is killed.
type lines struct {
	to    io.Writer
	aside atomic.Bool // between begin and end, and after it
	queue chan []byte // never closed
	lost  atomic.Int64
	tell  *slog.Logger // of what was left out; straight to the log
	stop  chan struct{}
	done  chan struct{}
}

func newLines(to io.Writer) *lines {
	return &lines{to: to, queue: make(chan []byte, maxLines), stop: make(chan struct{}), done: make(chan struct{})}
}

// Write takes a line.
func (l *lines) Write(p []byte) (int, error) {
	if !l.aside.Load() {
		return l.to.Write(p)
	}
	select {
	case l.queue <- bytes.Clone(p):
	default:
		l.lost.Add(1)
	}
	return len(p), nil
}

// begin puts lines aside from now on.
func (l *lines) begin() {
	l.aside.Store(true)
	go l.run()
}

// run hands lines on until end.
func (l *lines) run() {
	defer close(l.done)
	for {
		select {
		case p := <-l.queue:
			l.pass(p)
		case <-l.stop:
			l.rest()
			return
		}
	}
}

// rest hands on what waits.
func (l *lines) rest() {
	for {
		select {
		case p := <-l.queue:
			l.pass(p)
		default:
			return
		}
	}
}

func (l *lines) pass(p []byte) {
	l.to.Write(p)
	if n := l.lost.Swap(0); n > 0 {
		l.tell.Warn("lines of this log were left out: it did not take them", "lines", n)
	}
}

// end hands on what waits, and returns when that is done, or ctx, or somebody insists.
func (l *lines) end(ctx context.Context, insists <-chan os.Signal) {
	close(l.stop)
	select {
	case <-l.done:
	case <-insists:
	case <-ctx.Done():
	}
}
