//go:build unix

package bench

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// mapFile puts a file into memory that another process may share.
func mapFile(f *os.File, size int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func unmapFile(b []byte) { unix.Munmap(b) }

// openFiles is how many files a process may have open, as far as proxies are told.
func openFiles() (int, error) {
	var lim syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim)
	return int(min(lim.Cur, 1<<20)), err
}
