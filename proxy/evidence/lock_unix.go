//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package evidence

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps other writers away from a folder until what it returns is closed, or
// the process is dead. It leaves no file. Readers ask for no lock; where the file
// system has none, nobody is kept away.
func lock(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: dir, Err: ErrInUse}
	}
	return f, nil
}
