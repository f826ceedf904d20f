//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package evidence

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who opens the folder a second time stands for another process: the lock is of
// the open folder, not of the process.
func TestFolderHasOneWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "evidence")
	w, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	being := filepath.Join(dir, partial+"written")
	if err := os.Mkdir(being, 0o700); err != nil {
		t.Fatal(err)
	}
	if second, err := Open(dir, Options{}); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, %v, want an error that names %s", second, err, dir)
	}
	if _, err := os.Stat(being); err != nil {
		t.Errorf("what the first one writes was cleared away: %v", err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	third, err := Open(dir, Options{})
	if err != nil {
		t.Fatalf("after the first one's end: %v", err)
	}
	if err := third.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFolderThatWasInUseIsNotWrittenTo by one whose disk was so slow that it began
// before it could know.
func TestFolderThatWasInUseIsNotWrittenTo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "evidence")
	first, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	second := newDisk(dir, 1<<20)
	if err := second.open(); !errors.Is(err, ErrInUse) {
		t.Fatalf("got %v, want %v", err, ErrInUse)
	}
	if _, _, err := second.store("01TURN", files{"turn.json": []byte("{}")}); !errors.Is(err, ErrInUse) {
		t.Errorf("while the first one is there: got %v, want %v", err, ErrInUse)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer second.close()
	if _, _, err := second.store("01TURN", files{"turn.json": []byte("{}")}); err != nil {
		t.Errorf("after its end: got %v", err)
	}
}
