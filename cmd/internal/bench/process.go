package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Usage is what a process and its descendants have used.
type Usage struct {
	CPU         float64 // seconds, in user and kernel mode, of all their threads, and of children that ended
	User        float64 // of them, in user mode
	RSS         int64   // resident bytes
	Threads     int
	Descriptors int
}

func (u *Usage) add(o Usage) {
	u.CPU += o.CPU
	u.User += o.User
	u.RSS += o.RSS
	u.Threads += o.Threads
	u.Descriptors += o.Descriptors
}

// ticksPerSecond is USER_HZ, which is 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// usage reads /proc/PID/stat, whose fields proc_pid_stat(5) numbers from 1.
func usage(pid int) (u Usage, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, fmt.Errorf("read what a process has used: %w", err)
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	field := func(n int) float64 { v, _ := strconv.ParseFloat(f[n-3], 64); return v }
	u.User = (field(14) + field(16)) / ticksPerSecond
	u.CPU = u.User + (field(15)+field(17))/ticksPerSecond
	u.Threads = int(field(20))
	u.RSS = int64(field(24)) * int64(os.Getpagesize())
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	u.Descriptors = len(open)
	return u, nil
}

// usageOfAll is that of a process and its descendants.
func usageOfAll(pid int) (Usage, error) {
	u, err := usage(pid)
	if err != nil {
		return u, err
	}
	for _, child := range children(pid) {
		if of, err := usageOfAll(child); err == nil {
			u.add(of)
		}
	}
	return u, nil
}

func children(pid int) (all []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		b, _ := os.ReadFile(file)
		for _, s := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(s); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// busy is how many processor seconds this machine has worked, and how many it
// had.
func busy() (worked, had float64) {
	b, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(b), "\n")
	for i, f := range strings.Fields(line) {
		if i == 0 || i > 8 { // guests are counted as users
			continue
		}
		v, _ := strconv.ParseFloat(f, 64)
		had += v / ticksPerSecond
		if i != 4 && i != 5 { // idle, waiting for a disk
			worked += v / ticksPerSecond
		}
	}
	return worked, had
}
