package proxy

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// These never wait, so that the runtime need not be told of them. Those of sockets
// (calls_fast.go) are shorter than those of files.

// rawWait returns the events that have come, none if it cannot tell.
func rawWait(ep int, evs []unix.EpollEvent) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(&evs[0])), uintptr(len(evs)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// rawPeek reports that something has come over a socket with no error, its end
// too.
func rawPeek(fd int) unix.Errno {
	var b [1]byte
	_, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), 1, unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
	return errno
}

// rawYield lets another thread run that waits for this processor, if one does.
func rawYield() { unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// rawClose closes a socket that does not linger.
func rawClose(fd int) { unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// rawCtl adds, changes or removes an entry of an epoll instance.
func rawCtl(ep, op, fd int, ev *unix.EpollEvent) unix.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(ep), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(ev)), 0, 0)
	return errno
}
