package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSignalsThatReloadDoNotHideTheEnd, however many of them come while nobody looks: on a
// mount that is dead looking takes seconds.
func TestSignalsThatReloadDoNotHideTheEnd(t *testing.T) {
	sig, stop := notify()
	defer stop()
	seen := make(chan os.Signal, 3)
	signal.Notify(seen, syscall.SIGHUP)
	defer signal.Stop(seen)
	for range cap(seen) {
		kill(t, syscall.SIGHUP)
		got(t, seen, syscall.SIGHUP)
	}
	kill(t, syscall.SIGTERM)
	got(t, sig.end, syscall.SIGTERM)
	got(t, sig.again, syscall.SIGHUP)
	kill(t, syscall.SIGHUP)
	got(t, sig.again, syscall.SIGHUP)
	kill(t, syscall.SIGINT)
	got(t, sig.end, syscall.SIGINT)
}

// kill sends this process a signal.
func kill(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		t.Fatal(err)
	}
}

// got waits for a signal.
func got(t *testing.T, c <-chan os.Signal, want os.Signal) {
	t.Helper()
	select {
	case s := <-c:
		if s != want {
			t.Fatalf("got %v, want %v", s, want)
		}
	case <-time.After(patience):
		t.Fatalf("got no signal, want %v", want)
	}
}

// hung is a log that takes lines up to one with a text, and that one after a release.
type hung struct {
	buffer
	text    string
	begun   chan struct{} // closed once it hangs
	release chan struct{}
}

func newHung(t *testing.T, text string) *hung {
	h := &hung{text: text, begun: make(chan struct{}), release: make(chan struct{})}
	t.Cleanup(func() { close(h.release) })
	return h
}

func (h *hung) Write(p []byte) (int, error) {
	if h.text != "" && bytes.Contains(p, []byte(h.text)) {
		h.text = ""
		close(h.begun)
		<-h.release
	}
	return h.buffer.Write(p)
}

// TestLogThatHangsDelaysNoEnd, and keeps no line of the journal back.
func TestLogThatHangsDelaysNoEnd(t *testing.T) {
	log := newHung(t, "msg=relaying")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"-upstream", "http://127.0.0.1:1", "-listen", "127.0.0.1:0", "-admin", "off",
			"-journal", filepath.Join(t.TempDir(), "j.jsonl")}, io.Discard, log)
	}()
	<-log.begun
	cancel()
	select {
	case got := <-code:
		if got != exitGood {
			t.Errorf("exit code: got %d, want %d", got, exitGood)
		}
	case <-time.After(patience):
		t.Error("it did not end")
	}
}

// TestLogSaysHowManyLinesItDidNotTake.
func TestLogSaysHowManyLinesItDidNotTake(t *testing.T) {
	log := newHung(t, "first")
	l := newLines(log)
	l.tell = slog.New(slog.NewTextHandler(log, nil))
	l.begin()
	io.WriteString(l, "first\n")
	<-log.begun
	for range maxLines + 7 {
		io.WriteString(l, "more\n")
	}
	log.release <- struct{}{}
	l.end(t.Context(), nil)
	got := log.String()
	if strings.Count(got, "more\n") != maxLines || strings.Count(got, " lines=7\n") != 1 || !strings.HasPrefix(got, "first\n") {
		t.Errorf("got %d lines more, want %d and that 7 were left out:\n%.300s", strings.Count(got, "more\n"), maxLines, got)
	}
}
