package report

import (
	"math/rand/v2"
	"testing"

	"turnwatch/validate/stats"
)

// TestNoDifferenceHoldsAtEveryLook: B is worse by the margin, and somebody looks
// after every ten sessions.
func TestNoDifferenceHoldsAtEveryLook(t *testing.T) {
	const runs, sessions, allowed = 400, 1000, 31 // as 5% of 400 at 99%
	r := rand.New(rand.NewPCG(1, 2))
	called := 0
	for range runs {
		var a, b stats.Arm
		for n := 10; n <= sessions; n += 10 {
			for range 10 {
				a.N, b.N = a.N+1, b.N+1
				if r.Float64() < 0.02 {
					a.K++
				}
				if r.Float64() < 0.07 {
					b.K++
				}
			}
			c := Contrast{Anytime: 1}
			if c.decide(a, b, 0.05); c.Word == "no_difference" {
				called++
				break
			}
		}
	}
	if called > allowed {
		t.Errorf("got no difference in %d of %d comparisons of rates that differ by the margin, want at most %d", called, runs, allowed)
	}
}
