//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package journal

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps other writers away from g until it is closed, or the process is
// dead. Readers ask for no lock. Where the file system has none, nobody is kept away.
func lock(g *os.File) error {
	if err := unix.Flock(int(g.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return &fs.PathError{Op: "lock", Path: g.Name(), Err: ErrInUse}
	}
	return nil
}
