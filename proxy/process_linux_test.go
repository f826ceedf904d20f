package proxy

import (
	"bytes"
	"testing"
	"time"
)

func TestProcessMetricsTellOfTheSystem(t *testing.T) {
	var b bytes.Buffer
	if err := writeMetrics(&b, processMetrics("v", time.Now())); err != nil {
		t.Fatal(err)
	}
	got := parseMetrics(t, b.String())
	for _, name := range []string{"process_resident_memory_bytes", "process_open_fds", "process_max_fds", "process_cpu_seconds_total"} {
		if got[name] <= 0 {
			t.Errorf("%s: got %v, want more than 0", name, got[name])
		}
	}
}
