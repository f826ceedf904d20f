package proxy

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// rawPeek reports that something has come over a socket with no error, its end
// too.
func rawPeek(fd int) unix.Errno {
	var b [1]byte
	_, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), 1, unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
	return errno
}

// rawYield lets another thread run that waits for this processor, if one does.
func rawYield() { unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
