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
