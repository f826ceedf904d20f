package stress

import (
	"syscall"
	"time"
)

// cpuTime is what the process has used, in user and kernel mode.
func cpuTime() time.Duration {
	self, err := syscall.GetCurrentProcess()
	var born, died, kernel, user syscall.Filetime
	if err != nil || syscall.GetProcessTimes(self, &born, &died, &kernel, &user) != nil {
		return 0
	}
	return ticks(kernel) + ticks(user)
}

// ticks is a Filetime that holds no date: how many times 100 ns.
func ticks(f syscall.Filetime) time.Duration {
	return time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime)) * 100
}
