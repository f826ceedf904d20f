package stats

import (
	"math"
	"slices"
	"testing"
)

func TestNothingSeen(t *testing.T) {
	for name, f := range intervals {
		if lo, hi := f(0, 0, 0.95); name != "Jeffreys" && (lo != 0 || hi != 1) {
			t.Errorf("%s: got %v, %v, want 0, 1", name, lo, hi)
		}
	}
	none := Arm{}
	for name, p := range map[string]float64{
		"Fisher": Fisher(none, none), "FisherGreater": FisherGreater(none, none), "Boschloo": Boschloo(none, none),
		"Barnard": Barnard(none, none), "FreemanHalton": FreemanHalton(nil), "McNemar": McNemar(0, 0),
		"McNemarGreater": McNemarGreater(0, 0), "McNemarMidP": McNemarMidP(0, 0), "Fisher, one arm": Fisher(Arm{3, 9}, none),
		"AnytimeP": AnytimeP(0), "Blocks": new(Blocks).P(), "RunLength": 1 / RunLength(0.1, 0.5, 1e-9, 1-1e-12),
	} {
		if !near(p, 1, 1e-9) {
			t.Errorf("%s: got %v, want 1", name, p)
		}
	}
	if p, ratio, lo, hi := CMHExact(nil, 0.95); p != 1 || ratio != 1 || lo != 0 || !math.IsInf(hi, 1) {
		t.Errorf("CMHExact: got %v, %v, %v, %v", p, ratio, lo, hi)
	}
	if chi2, p, ratio := CMH(nil); chi2 != 0 || p != 1 || ratio != 1 {
		t.Errorf("CMH: got %v, %v, %v", chi2, p, ratio)
	}
	for name, e := range map[string]float64{
		"LogE": Prior{}.LogE(0, 0, 0.1), "LogEBelow": Prior{}.LogEBelow(0, 0, 0.1), "LogEAbove": Prior{}.LogEAbove(0, 0, 0.1),
		"LogEPaired": LogEPaired(0, 0), "LogEPairedGreater": LogEPairedGreater(0, 0), "LogEUniversal": Prior{}.LogEUniversal(none, none),
	} {
		if e != 0 {
			t.Errorf("%s: got %v, want 0", name, e)
		}
	}
	if lo, hi := Ratio(nil).Interval(0.95); lo != 0 || hi != 1 {
		t.Errorf("Ratio: got %v, %v, want 0, 1", lo, hi)
	}
	if got := len(EBH(nil, 0.05)) + len(Holm(nil)) + len(BenjaminiYekutieli(nil)); got != 0 {
		t.Errorf("of no p-values %d are made", got)
	}
}

// What differs beyond what a float64 can say keeps its order and its sign.
func TestFarOut(t *testing.T) {
	a, b := Arm{1_000_000, 1_000_000}, Arm{0, 1_000_000}
	if p := Fisher(a, b); p != 0 {
		t.Errorf("Fisher: got %v, want 0", p)
	}
	if e := (Prior{}).LogEUniversal(a, b); !(e > 1e6 && e < 2e6) {
		t.Errorf("LogEUniversal: got %v, want about 2e6·ln 2", e)
	}
	if e := (Prior{}).LogEBelow(1_000_000, 1_000_000, 1e-9); !(e < -1 && !math.IsInf(e, 0)) {
		t.Errorf("LogEBelow: got %v, want far below 0", e)
	}
	if p := Fisher(Arm{1, 1_000_000}, Arm{1, 1_000_000}); p != 1 {
		t.Errorf("Fisher of equals: got %v, want 1", p)
	}
	if p := MinAttainable(1_000_000, 60, 60); !(1e-280 < p && p < 1e-275) {
		t.Errorf("MinAttainable: got %v, want about 1e-278", p)
	}
}

func TestPoissonOrders(t *testing.T) {
	last := -1.0
	for _, k := range []int{0, 1, 2, 3, 10, 100, 1000, 100_000} {
		for _, conf := range []float64{0.5, 0.95, 0.999999} {
			lo, hi := Poisson(k, 2, conf)
			if !(0 <= lo && lo <= float64(k)/2 && float64(k)/2 <= hi && hi < math.Inf(1)) {
				t.Errorf("Poisson(%d, 2, %v) = %v, %v", k, conf, lo, hi)
			}
			if conf == 0.95 {
				if hi <= last {
					t.Errorf("Poisson(%d, 2, %v): %v is not above %v", k, conf, hi, last)
				}
				last = hi
			}
		}
	}
	if lo, hi := Poisson(0, 0, 0.95); lo != 0 || !math.IsInf(hi, 1) {
		t.Errorf("without exposure: got %v, %v", lo, hi)
	}
}

// Sessions of one turn are turns; sessions that repeat one turn are worth one.
func TestRatioBetweenExtremes(t *testing.T) {
	var single, repeated []Cluster
	for i := range 100 {
		k := 0
		if i < 20 {
			k = 1
		}
		single = append(single, Cluster{k, 1})
		repeated = append(repeated, Cluster{10 * k, 10})
	}
	one, ten := Ratio(single), Ratio(repeated)
	if !near(one.Effect, 1, 0.02) || !near(ten.Effect, 10, 0.02) || !near(ten.EffectiveN, one.EffectiveN, 1e-9) {
		t.Errorf("got design effects %v and %v, want about 1 and 10", one.Effect, ten.Effect)
	}
	if !near(ten.Correlation, 1, 1e-9) || !near(one.SE, ten.SE, 1e-9) {
		t.Errorf("got correlation %v, errors %v and %v", ten.Correlation, one.SE, ten.SE)
	}
	sound := Ratio([]Cluster{{0, 50}, {0, 30}, {0, 0}})
	if lo, hi := sound.Interval(0.95); sound.EffectiveN != 2 || lo != 0 || !near(hi, 0.6576, 1e-3) {
		t.Errorf("two sound sessions: got %+v, %v, %v; want what Wilson says of 0/2", sound, lo, hi)
	}
}

// Unequal arms: blocks of two to one are filled in order, and what one arm has
// ahead of the other waits.
func TestBlocksOfUnequalArms(t *testing.T) {
	s := Blocks{NA: 2, NB: 1}
	for range 5 {
		s.AddA(true)
	}
	if s.LogE() != 0 {
		t.Errorf("before the second arm: got %v, want 0", s.LogE())
	}
	s.AddB(false)
	if math.Abs(s.LogE()) > 1e-12 { // the first block is judged by shares of one half
		t.Errorf("after one block: got %v, want 0", s.LogE())
	}
	s.AddB(false)
	pa, pb := 2.18/2.36, 0.18/1.36
	common := (2*pa + pb) / 3
	if want := 2*math.Log(pa/common) + math.Log((1-pb)/(1-common)); !near(s.LogE(), want, 1e-12) {
		t.Errorf("after two blocks: got %v, want %v", s.LogE(), want)
	}
	if a, b := s.Arms(); a != (Arm{4, 4}) || b != (Arm{0, 2}) {
		t.Errorf("got %v and %v in blocks", a, b)
	}
}

func TestEBH(t *testing.T) {
	log := math.Log
	tests := []struct {
		logE []float64
		want []bool
	}{
		{[]float64{log(19)}, []bool{false}},
		{[]float64{log(20.1)}, []bool{true}},
		{[]float64{log(39), log(39)}, []bool{true, true}}, // 20 is enough where two have it
		{[]float64{log(39), log(1)}, []bool{false, false}},
		{[]float64{math.Inf(1), log(21), log(1)}, []bool{true, false, false}},
		{[]float64{math.Inf(-1), math.Inf(-1)}, []bool{false, false}},
	}
	for _, tt := range tests {
		if got := EBH(tt.logE, 0.05); !slices.Equal(got, tt.want) {
			t.Errorf("%v: got %v, want %v", tt.logE, got, tt.want)
		}
	}
}

// Too many tables to go through: the approximation is near what the exact test
// says of as much as it can.
func TestFreemanHaltonOfMany(t *testing.T) {
	few := []Arm{{30, 200}, {20, 200}, {28, 200}}
	if got, want := FreemanHalton(few), pearson(few, Arm{78, 600}.Rate()); !near(got, want, 0.05) {
		t.Errorf("got %v exactly, %v by approximation", got, want)
	}
	var many []Arm
	for i := range 12 {
		many = append(many, Arm{20 + i, 400})
	}
	probability(t, "FreemanHalton", FreemanHalton(many))
}

// Where corrupted turns are rare, only their number between alarms counts: ten
// times rarer, ten times later.
func TestRunLengthOfRareTurns(t *testing.T) {
	base := RunLength(0.001, 0.01, 5, 0.001) * 0.001
	for _, p0 := range []float64{1e-4, 1e-5, 1e-9} {
		if got := RunLength(p0, 10*p0, 5, p0) * p0; !near(got, base, 0.06) {
			t.Errorf("from %v: alarm after %v expected turns, want about %v", p0, got, base)
		}
	}
	if got := RunLength(0.001, 0.9, 0.5, 0.001); !near(got, 1000, 1e-6) {
		t.Errorf("one corrupted turn is enough: alarm after %v turns, want 1000", got)
	}
}
