package proxy

import (
	"testing"
	"time"
)

func TestProcessMetricsTellOfTheSystem(t *testing.T) {
	got := series(ProcessMetrics("v", time.Now()))
	for _, name := range []string{"process_resident_memory_bytes", "process_open_fds", "process_max_fds", "process_cpu_seconds_total", "go_goroutines"} {
		if got[name] <= 0 {
			t.Errorf("%s: got %v, want more than 0", name, got[name])
		}
	}
}
