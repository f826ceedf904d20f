package stats

import (
	"math"
	"testing"
)

// intervals are those of one rate that cover what was seen.
var intervals = map[string]func(k, n int, conf float64) (lo, hi float64){
	"Wilson":         WilsonAt,
	"ClopperPearson": ClopperPearson,
	"MidP":           MidP,
	"Sequence":       Prior{}.Sequence,
	"one-sided":      func(k, n int, conf float64) (lo, hi float64) { return Lower(k, n, conf), Upper(k, n, conf) },
	"Jeffreys":       Jeffreys,
}

// ordered checks 0 ≤ lo ≤ hi ≤ 1, which no NaN passes, and that what was seen is
// inside.
func ordered(t *testing.T, name string, k, n int, conf float64) (lo, hi float64) {
	t.Helper()
	lo, hi = intervals[name](k, n, conf)
	if !(0 <= lo && lo <= hi && hi <= 1) {
		t.Fatalf("%s(%d, %d, %v) = %v, %v", name, k, n, conf, lo, hi)
	}
	p := Arm{k, n}.Rate()
	if n > 0 && name != "Jeffreys" && (conf > 0.5 || name == "Wilson") && !(lo <= p && p <= hi) {
		t.Fatalf("%s(%d, %d, %v) = %v, %v without %v", name, k, n, conf, lo, hi, p)
	}
	return lo, hi
}

// slack is what rounding may leave of 1.
const slack = 1e-9

func checkRate(t *testing.T, k, n int, conf float64) {
	t.Helper()
	slack := slack + 1e-15*float64(n) // of the logarithm of a likelihood of huge n
	for name := range intervals {
		lo, hi := ordered(t, name, k, n, conf)
		if wideLo, wideHi := ordered(t, name, k, n, conf+(1-conf)/2); wideLo > lo*(1+slack) || wideHi < hi*(1-slack) {
			t.Fatalf("%s(%d, %d) at %v is [%v, %v], not inside [%v, %v]", name, k, n, conf, lo, hi, wideLo, wideHi)
		}
		if k < n {
			if nextLo, nextHi := ordered(t, name, k+1, n, conf); nextLo < lo*(1-slack) || nextHi < hi*(1-slack) {
				t.Fatalf("%s(%d, %d, %v): [%v, %v] goes down to [%v, %v] with one more", name, k, n, conf, lo, hi, nextLo, nextHi)
			}
		}
		if _, lessHi := ordered(t, name, k, n+1, conf); lessHi > hi*(1+slack) {
			t.Fatalf("%s(%d, %d, %v): %v goes up to %v with one sound more", name, k, n, conf, hi, lessHi)
		}
	}
}

func FuzzRate(f *testing.F) {
	for _, n := range []int{0, 1, 2, 40, 120, 1000, 1e6, 1e9} {
		for _, k := range []int{0, 1, 2, n / 20, n / 2, n - 1, n} {
			if 0 <= k && k <= n {
				f.Add(k, n, 0.95)
			}
		}
	}
	f.Add(6, 40, 0.999999)
	f.Add(6, 40, 0.01)
	f.Fuzz(func(t *testing.T, k, n int, conf float64) {
		if n < 0 || n > 1e9 || k < 0 || k > n || !(conf >= 0.01 && conf <= 0.999999) {
			return
		}
		checkRate(t, k, n, conf)
		for _, p0 := range []float64{1e-9, 0.001, 0.15, 0.5, 0.999} {
			below, above := Prior{}.LogEBelow(k, n, p0), Prior{}.LogEAbove(k, n, p0)
			if math.IsNaN(below) || math.IsInf(below, 0) || math.IsNaN(above) || math.IsInf(above, 0) {
				t.Fatalf("E(%d, %d, %v) = %v, %v", k, n, p0, below, above)
			}
			tolerance := 1e-6 + 1e-14*float64(n)*math.Abs(math.Log(p0))
			if k < n && (Prior{}).LogEBelow(k+1, n, p0) > below+tolerance {
				t.Fatalf("LogEBelow(%d, %d, %v) goes up with one more", k, n, p0)
			}
		}
	})
}

// probability fails for what is none; so for NaN.
func probability(t *testing.T, what string, p float64) {
	t.Helper()
	if !(0 <= p && p <= 1) {
		t.Fatalf("%s is %v", what, p)
	}
}

func checkArms(t *testing.T, a, b Arm) {
	t.Helper()
	two, greater, mid, less := Fisher(a, b), FisherGreater(a, b), FisherMidP(a, b), FisherGreater(b, a)
	for what, p := range map[string]float64{"Fisher": two, "FisherGreater": greater, "FisherMidP": mid, "ProbGreater": ProbGreater(a, b)} {
		probability(t, what, p)
	}
	if mid > greater || min(greater, less) > two*(1+1e-6) || !near(two, Fisher(b, a), 1e-6) || greater+less < 1-1e-9 {
		t.Fatalf("%v against %v: p %v two-sided, %v and %v one-sided, %v mid", a, b, two, greater, less, mid)
	}
	if a.N+b.N <= 60 {
		exact := Boschloo(a, b)
		probability(t, "Boschloo", exact)
		probability(t, "Barnard", Barnard(a, b))
		if exact > greater*(1+1e-6) {
			t.Fatalf("%v against %v: Boschloo %v is above Fisher %v", a, b, exact, greater)
		}
	}
	checkSizes(t, a, b)
	if e := (Prior{}).LogEUniversal(a, b); math.IsNaN(e) || math.IsInf(e, 0) {
		t.Fatalf("%v against %v: E is %v", a, b, e)
	}
	chi2, p, odds := CMH([][2]Arm{{a, b}, {b, a}, {}})
	probability(t, "CMH", p)
	if !(chi2 >= 0 && odds >= 0) {
		t.Fatalf("%v against %v: CMH %v, odds ratio %v", a, b, chi2, odds)
	}
}

// checkSizes checks the intervals of what lies between two arms.
func checkSizes(t *testing.T, a, b Arm) {
	t.Helper()
	seen := a.Rate() - b.Rate()
	for name, f := range map[string]func(a, b Arm, conf float64) (lo, hi float64){"Newcombe": Newcombe, "MiettinenNurminen": MiettinenNurminen} {
		lo, hi := f(a, b, 0.95)
		if !(-1 <= lo && lo <= seen+slack && seen-slack <= hi && hi <= 1) {
			t.Fatalf("%s(%v, %v) = %v, %v", name, a, b, lo, hi)
		}
		if l, h := f(b, a, 0.95); !(math.Abs(l+hi) < 1e-6 && math.Abs(h+lo) < 1e-6) {
			t.Fatalf("%s(%v, %v) = %v, %v, turned round %v, %v", name, a, b, lo, hi, l, h)
		}
	}
	if lo, hi := AgrestiCaffo(a, b, 0.95); !(-1 <= lo && lo <= hi && hi <= 1) {
		t.Fatalf("AgrestiCaffo(%v, %v) = %v, %v", a, b, lo, hi)
	}
	if ratio, lo, hi := OddsRatio(a, b, 0.95); !(0 <= lo && lo <= ratio*(1+slack) && ratio <= hi*(1+slack)) {
		t.Fatalf("OddsRatio(%v, %v) = %v in [%v, %v]", a, b, ratio, lo, hi)
	}
}

func FuzzArms(f *testing.F) {
	f.Add(uint16(6), uint16(40), uint16(0), uint16(80))
	f.Add(uint16(0), uint16(0), uint16(0), uint16(0))
	f.Add(uint16(0), uint16(0), uint16(3), uint16(3))
	f.Add(uint16(1), uint16(1), uint16(0), uint16(1))
	f.Add(uint16(5), uint16(5), uint16(5), uint16(5))
	f.Add(uint16(0), uint16(300), uint16(0), uint16(2))
	f.Add(uint16(300), uint16(300), uint16(0), uint16(299))
	f.Add(uint16(3), uint16(65535), uint16(40), uint16(1000))
	f.Fuzz(func(t *testing.T, ka, na, kb, nb uint16) {
		if ka > na || kb > nb || ka > 400 && kb > 400 {
			return // what is left is quick
		}
		checkArms(t, Arm{int(ka), int(na)}, Arm{int(kb), int(nb)})
	})
}

// What comes in turn by turn: bit 0 is the outcome, bit 1 the arm.
func FuzzTurns(f *testing.F) {
	f.Add([]byte{0, 2, 1, 2, 0, 3, 1, 1, 1, 1, 2, 2, 2, 2}, uint8(1), uint8(1))
	f.Add([]byte{0, 0, 1, 2, 0, 0, 0, 2, 1, 1, 1, 3}, uint8(3), uint8(1))
	f.Fuzz(func(t *testing.T, turns []byte, na, nb uint8) {
		s, p := Blocks{NA: int(na), NB: int(nb)}, 1.0
		c, sr := CUSUM{P0: 0.005, P1: 0.05}, ShiryaevRoberts{P0: 0.005, P1: 0.05}
		for _, b := range turns {
			bad := b&1 == 1
			if b&2 == 0 {
				s.AddA(bad)
			} else {
				s.AddB(bad)
			}
			sum, value := c.Add(bad), sr.Add(bad)
			if !(0 < s.P() && s.P() <= p) || math.IsNaN(s.LogE()) || !(0 <= sum && sum <= c.Greatest()) || !(0 <= value && value < math.Inf(1)) {
				t.Fatalf("after %v: p %v after %v, E %v, CUSUM %v, value %v", turns, s.P(), p, s.LogE(), sum, value)
			}
			p = s.P()
		}
		a, b := s.Arms()
		if a.N/max(1, int(na)) != b.N/max(1, int(nb)) {
			t.Fatalf("%v and %v are not of whole blocks of %d and %d", a, b, na, nb)
		}
	})
}
