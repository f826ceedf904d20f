//go:build unix

package proxy

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A pipe that nobody writes stands for a file on a mount that is dead.
func TestFileThatDoesNotAnswerKeepsTheOld(t *testing.T) {
	path, log := filepath.Join(t.TempDir(), "secret"), new(bytes.Buffer)
	replaceFile(t, path, []byte("old"))
	r := &refreshed[string]{what: "secret", files: []string{path}, log: slog.New(slog.NewTextHandler(log, nil))}
	r.load = func() (string, error) { b, err := os.ReadFile(path); return string(b), err }
	err := r.start()
	if err := errors.Join(err, os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	r.look()
	r.look()
	if got, bad := r.get(), r.bad.Load(); got != "old" || bad != 1 {
		t.Errorf("while the file does not answer: got %q, %d times kept, want old, once; log: %s", got, bad, log)
	}
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.WriteString("new")
	w.Close()
	for end := time.Now().Add(30 * time.Second); *r.value.Load() != "new"; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the value is %q once the file has answered, want new", *r.value.Load())
		}
	}
}
