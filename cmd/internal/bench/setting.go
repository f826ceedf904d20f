package bench

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Setting is where and with what a session was held.
type Setting struct {
	Time      time.Time
	Commit    string // of turnwatch, as its build recorded it
	Go        string
	System    string
	Processor string
	CPUs      int
	Load      string            // averages of the machine before the session
	Versions  map[string]string // of the others, as they tell them
}

// NewSetting describes this machine and these targets.
func NewSetting(targets []Target, commit string) Setting {
	s := Setting{Time: time.Now().Truncate(time.Second), Commit: commit, Go: runtime.Version(), CPUs: runtime.NumCPU(), Versions: map[string]string{}}
	s.System = firstLine("/proc/sys/kernel/osrelease")
	s.Load = firstLine("/proc/loadavg")
	s.Processor = fieldOf("/proc/cpuinfo", "model name")
	for _, t := range targets {
		if flag := versionFlag(t.Name); flag != "" {
			out, _ := exec.Command(t.program, flag).CombinedOutput()
			s.Versions[t.Name], _, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
		}
	}
	return s
}

func versionFlag(target string) string {
	switch target {
	case "nginx", "haproxy":
		return "-v"
	case "envoy":
		return "--version"
	}
	return ""
}

func firstLine(path string) string {
	b, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

func fieldOf(path, name string) string {
	b, _ := os.ReadFile(path)
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Commit is what a program's build recorded of its source.
func Commit(program string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "unknown"
	}
	commit, changed := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " and changes"
		}
	}
	return commit + changed
}

// String is the setting in two lines.
func (s Setting) String() string {
	text := fmt.Sprintf("%s, commit %s, %s, %d × %s, Linux %s, load %s", s.Time.Format("2006-01-02 15:04 MST"), s.Commit, s.Go, s.CPUs, s.Processor, s.System, s.Load)
	for name, v := range s.Versions {
		text += "\n" + name + ": " + v
	}
	return text
}
