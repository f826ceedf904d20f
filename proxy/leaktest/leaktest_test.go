package leaktest

import (
	"testing"
	"time"
)

// tests are those of a package, played by a function.
type tests func() int

func (t tests) Run() int { return t() }

func stray(end chan struct{}) { <-end }

// TestGoroutineThatIsLeftFailsTheTests, unless it is a known one or they fail anyway.
func TestGoroutineThatIsLeftFailsTheTests(t *testing.T) {
	f := func(what string, want, code int, but ...string) {
		t.Helper()
		end := make(chan struct{})
		defer close(end)
		if got := run(tests(func() int { go stray(end); return code }), time.Millisecond, but); got != want {
			t.Errorf("%s: got %d, want %d", what, got, want)
		}
	}
	f("left", 1, 0)
	f("known", 0, 0, "turnwatch/proxy/leaktest.stray")
	f("failed", 3, 3)
	if got := Run(tests(func() int { return 0 })); got != 0 {
		t.Errorf("none: got %d, want 0", got)
	}
}
