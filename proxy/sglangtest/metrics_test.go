package sglangtest

import (
	"regexp"
	"strings"
	"testing"
)

// TestMetricsArePrometheus: each line is a comment or a sample.
func TestMetricsArePrometheus(t *testing.T) {
	s := NewServer(Config{})
	defer s.Close()
	line := regexp.MustCompile(`^(# TYPE sglang:[a-z_]+ (gauge|counter)|sglang:[a-z_]+\{([a-z_]+="[^"]*",)*[a-z_]+="[^"]*"\} [0-9.e+]+)$`)
	text := strings.TrimSuffix(s.metrics(), "\n")
	for l := range strings.SplitSeq(text, "\n") {
		if !line.MatchString(l) {
			t.Errorf("no line of the text format: %s", l)
		}
	}
	if !strings.Contains(text, "sglang:num_running_reqs{") {
		t.Errorf("got no running requests in:\n%s", text)
	}
}
