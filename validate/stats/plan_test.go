package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The sessions that show nothing and rule out a share: fixed in advance, looked
// at all the time, and looked at all the time after one corrupted.
func TestRuleOut(t *testing.T) {
	tests := []struct {
		p                  float64
		fixed, peek, after int
	}{
		{0.15, 19, 24, 42},
		{0.10, 29, 36, 64},
		{0.05, 59, 74, 131},
		{0.02, 149, 188, 330},
		{0.01, 299, 377, 663},
	}
	for _, tt := range tests {
		fixed := RuleOutN(tt.p, 0.95)
		peek, after := RuleOutPeekSafeN(tt.p, 0.95, 0), RuleOutPeekSafeN(tt.p, 0.95, 1)
		if fixed != tt.fixed || peek != tt.peek || after != tt.after {
			t.Errorf("%v: got %d, %d, %d; want %d, %d, %d", tt.p, fixed, peek, after, tt.fixed, tt.peek, tt.after)
		}
		if Upper(0, fixed, 0.95) > tt.p || Upper(0, fixed-1, 0.95) <= tt.p {
			t.Errorf("%v: %d is not the least that Upper clears", tt.p, fixed)
		}
	}
}

// Sessions in each arm, at a power of 80%: the fixed numbers are exact, the
// peek-safe ones (median and 80%) within 15% of an earlier, independent simulation.
func TestDetect(t *testing.T) {
	tests := []struct {
		p1, p2              float64
		fixed, median, most int
	}{
		{0.15, 0, 44, 40, 53},
		{0.15, 0.01, 53, 46, 80},
		{0.15, 0.05, 126, 162, 277},
		{0.05, 0, 134, 115, 157},
		{0.01, 0, 671, 554, 806},
	}
	for _, tt := range tests {
		if got := FixedN(tt.p1, tt.p2, 0.8, 0.05); got != tt.fixed {
			t.Errorf("%v against %v: got %d fixed, want %d", tt.p1, tt.p2, got, tt.fixed)
		}
		if enough, less := Power(tt.p1, tt.p2, tt.fixed, tt.fixed, 0.05), Power(tt.p1, tt.p2, tt.fixed-1, tt.fixed-1, 0.05); enough < 0.8 || less >= 0.8 {
			t.Errorf("%v against %v: the power is %v with %d, %v with one less", tt.p1, tt.p2, enough, tt.fixed, less)
		}
		median := PeekSafeN(tt.p1, tt.p2, 0.5, 0.05, 3000, 1)
		most := PeekSafeN(tt.p1, tt.p2, 0.8, 0.05, 3000, 1)
		if !near(float64(median), float64(tt.median), 0.15) || !near(float64(most), float64(tt.most), 0.15) {
			t.Errorf("%v against %v: got %d, %d peek-safe, want %d, %d", tt.p1, tt.p2, median, most, tt.median, tt.most)
		}
		t.Logf("%4v against %4v: %d fixed; %d, %d peek-safe", tt.p1, tt.p2, tt.fixed, median, most)
	}
}

func TestPlansOfWhatCannotBeTold(t *testing.T) {
	if got := FixedN(0.05, 0.05, 0.8, 0.05); got != 0 {
		t.Errorf("equal shares: got %d, want 0", got)
	}
	if got := PeekSafeN(0.05, 0.05, 0.8, 0.05, 50, 1); got != 0 {
		t.Errorf("equal shares, looked at: got %d, want 0", got)
	}
	exact, rough := FixedN(0.15, 0.12, 0.8, 0.05), corrected(NormalN(0.15, 0.12, 0.8, 0.1), 0.03)
	if !near(rough, float64(exact), 0.01) {
		t.Errorf("close shares: got %v by approximation, %d exactly", rough, exact)
	}
	if got, want := FixedN(0.5001, 0.5, 0.8, 0.05), 300_000_000; got < want {
		t.Errorf("nearly equal shares: got %d, want more than %d", got, want)
	}
}

// What the story of the partial fix needed to know.
func TestSeedFigures(t *testing.T) {
	before, fixed := Arm{6, 40}, Arm{0, 80}
	if p := Fisher(before, Arm{2, 40}); p < 0.05 {
		t.Errorf("6/40 against 2/40: got p %v, want no difference", p)
	}
	if p := Fisher(before, fixed); p > 0.0011 {
		t.Errorf("6/40 against 0/80: got p %v, want 0.00105", p)
	}
	if got := Upper(0, 80, 0.95); math.Abs(got-0.0368) > 5e-5 {
		t.Errorf("0/80: got below %v, want 3.68%%", got)
	}
	if got := AtMost(0, 80, 0.15); !near(got, 2.256e-6, 1e-3) {
		t.Errorf("0/80 at 15%%: got %v, want 2.3e-6", got)
	}
}

// TestProofIsReachedAsPlanned: of runs in which 2% are wrong, at least 95% prove
// within the planned number of turns that more than 0.1% are, and of runs in which
// 0.1% are hardly any ever does.
func TestProofIsReachedAsPlanned(t *testing.T) {
	n := ProofN(0.02, 0.001, 0.98, 0.05, 20_000, 1)
	run := func(p float64, within int, random *rand.Rand) bool {
		wrong := 0
		for i := 1; i <= within; i++ {
			if random.Float64() < p {
				if wrong++; (Prior{}).LogEAbove(wrong, i, 0.001) >= math.Log(20) {
					return true
				}
			}
		}
		return false
	}
	random := rand.New(rand.NewPCG(11, 12))
	proved, wrongly := 0, 0
	for range 200 {
		if run(0.02, n, random) {
			proved++
		}
		if run(0.001, 5000, random) {
			wrongly++
		}
	}
	t.Logf("within %d turns: proved in %d of 200, falsely in %d of 200", n, proved, wrongly)
	if n < 50 || n > 1000 || proved < 190 || wrongly > 18 {
		t.Errorf("within %d turns: got %d proofs and %d false ones of 200", n, proved, wrongly)
	}
}
