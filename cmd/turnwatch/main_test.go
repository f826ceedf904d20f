package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"
)

// buffer is a log that may be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// The end of its context ends the command as a signal does, and nothing is
// left running: TestMain looks.
func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var log buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{
			"-upstream", "http://127.0.0.1:1", "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0",
			"-journal", filepath.Join(t.TempDir(), "j.jsonl"), "-journal-max-age", "1h",
		}, io.Discard, &log)
	}()
	up := regexp.MustCompile(`msg=relaying`)
	for end := time.Now().Add(patience); !up.MatchString(log.String()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got no listener; log: %s", &log)
		}
	}
	cancel()
	if got := <-code; got != exitGood {
		t.Errorf("exit code: got %d, want %d; log: %s", got, exitGood, &log)
	}
}
