package proxy

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processMetrics says how the process itself fares, under the names that
// dashboards for Go programs already use. What the system does not tell is
// left out.
func processMetrics(version string, started time.Time) []Metric {
	build := []Label{{"version", version}, {"goversion", runtime.Version()}}
	all := []Metric{
		{Name: "turnwatch_build_info", Help: "The build that runs.", Gauge: true, Series: []Sample{{build, 1}}},
		Gauge("go_goroutines", "Goroutines that exist.", float64(runtime.NumGoroutine())),
		Gauge("process_start_time_seconds", "When the process started, in seconds since 1970.", float64(started.UnixMilli())/1e3),
	}
	return append(all, systemMetrics()...)
}

func systemMetrics() []Metric {
	var all []Metric
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) == nil {
		cpu := time.Duration(use.Utime.Nano() + use.Stime.Nano())
		all = append(all, Metric{Name: "process_cpu_seconds_total", Help: "CPU time used, user and system.", Series: []Sample{{Value: cpu.Seconds()}}})
	}
	if n, ok := residentPages(); ok {
		all = append(all, Gauge("process_resident_memory_bytes", "Memory that is resident.", float64(n*int64(os.Getpagesize()))))
	}
	if n, ok := openFiles(); ok {
		all = append(all, Gauge("process_open_fds", "File descriptors that are open.", float64(n)))
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		all = append(all, Gauge("process_max_fds", "File descriptors that may be open.", float64(limit.Cur)))
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
	return len(names) - 1, err == nil && strings.Join(names, "") != ""
}
