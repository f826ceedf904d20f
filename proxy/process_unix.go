//go:build unix

package proxy

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// systemMetrics asks the system.
func systemMetrics() []Metric {
	var all []Metric
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) == nil {
		cpu := time.Duration(use.Utime.Nano() + use.Stime.Nano())
		all = append(all, Metric{Name: "process_cpu_seconds_total", Series: []Sample{{Value: cpu.Seconds()}}})
	}
	if n, ok := residentPages(); ok {
		all = append(all, Gauge("process_resident_memory_bytes", float64(n*int64(os.Getpagesize()))))
	}
	if n, ok := openFiles(); ok {
		all = append(all, Gauge("process_open_fds", float64(n)))
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		all = append(all, Gauge("process_max_fds", float64(limit.Cur)))
	}
	return all
}

// residentPages reads Linux's count of the pages in memory.
func residentPages() (int64, bool) {
	b, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(b)
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return n, err == nil
}

// openFiles counts the descriptors, less the one that the counting takes.
func openFiles() (int, bool) {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return 0, false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	return len(names) - 1, err == nil
}
