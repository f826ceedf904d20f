//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package journal

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// Who opens the file a second time stands for another process: the lock is of
// the open file, not of the process.
func TestJournalHasOneWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "turns.jsonl")
	w := mustOpen(t, path, Options{MaxSize: 600})
	refused := func(when string) {
		t.Helper()
		second, err := Open(path, Options{})
		if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, %v, want an error that names %s", when, second, err, path)
		}
	}
	refused("at the start")
	for i := range 20 {
		w.Finish(record(i))
	}
	await(t, "a file was begun after another and all is written", func() bool { s := w.Stats(); return s.Rotations > 0 && s.Lines == 20 })
	refused("after a rotation")
	holds(t, path, upTo(20))
	mustClose(t, w)
	mustClose(t, mustOpen(t, path, Options{}))
}

func TestDeviceHasManyWriters(t *testing.T) {
	w := mustOpen(t, "/dev/null", Options{})
	mustClose(t, mustOpen(t, "/dev/null", Options{}))
	mustClose(t, w)
}
