package stats

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// args are the arguments of a reference value, by name.
type args map[string]json.RawMessage

func arg[T any](a args, name string) (v T) {
	if err := json.Unmarshal(a[name], &v); err != nil {
		panic("argument " + name + ": " + err.Error())
	}
	return v
}

func (a args) num(name string) float64    { return arg[float64](a, name) }
func (a args) int(name string) int        { return arg[int](a, name) }
func (a args) nums(name string) []float64 { return arg[[]float64](a, name) }
func (a args) ints(name string) []int     { return arg[[]int](a, name) }

func (a args) prior() Prior        { return Prior{a.num("a"), a.num("b")} }
func (a args) arms() (x, y Arm)    { return Arm{a.int("x1"), a.int("n1")}, Arm{a.int("x2"), a.int("n2")} }
func one(v float64) []float64      { return []float64{v} }
func two(lo, hi float64) []float64 { return []float64{lo, hi} }

func (a args) sessions() (all []Cluster) {
	y, m := a.ints("y"), a.ints("m")
	for i := range y {
		all = append(all, Cluster{y[i], m[i]})
	}
	return all
}

func (a args) strata() (all [][2]Arm) {
	for _, t := range arg[[][2][2]int](a, "tables") {
		all = append(all, [2]Arm{{t[0][0], t[0][0] + t[0][1]}, {t[1][0], t[1][0] + t[1][1]}})
	}
	return all
}

// rate makes a counterpart of an interval of one rate.
func rate(f func(k, n int, conf float64) (lo, hi float64)) func(args) []float64 {
	return func(a args) []float64 { return two(f(a.int("x"), a.int("n"), a.num("conf"))) }
}

// compared makes a counterpart of a p-value of two arms.
func compared(f func(x, y Arm) float64) func(args) []float64 {
	return func(a args) []float64 { return one(f(a.arms())) }
}

// differs makes a counterpart of an interval of a difference.
func differs(f func(x, y Arm, conf float64) (lo, hi float64)) func(args) []float64 {
	return func(a args) []float64 {
		x, y := a.arms()
		return two(f(x, y, a.num("conf")))
	}
}

func pairs(f func(b, c int) float64) func(args) []float64 {
	return func(a args) []float64 { return one(f(a.int("b"), a.int("c"))) }
}

func adjust(f func([]float64) []float64) func(args) []float64 {
	return func(a args) []float64 { return f(a.nums("p")) }
}

// counterparts tells what answers each function of the reference values.
var counterparts = map[string]func(args) []float64{
	"wilson":          rate(WilsonAt),
	"clopper_pearson": rate(ClopperPearson),
	"jeffreys":        rate(Jeffreys),
	"midp_interval":   rate(MidP),
	"upper_bound_one_sided": func(a args) []float64 {
		return one(Upper(a.int("x"), a.int("n"), a.num("conf")))
	},
	"lower_bound_one_sided": func(a args) []float64 {
		return one(Lower(a.int("x"), a.int("n"), a.num("conf")))
	},
	"binom_cdf":                func(a args) []float64 { return one(AtMost(a.int("k"), a.int("n"), a.num("p"))) },
	"poisson_exact_ci":         func(a args) []float64 { return two(Poisson(a.int("x"), a.num("t"), a.num("conf"))) },
	"poisson_ratio_p":          func(a args) []float64 { return one(PoissonRatio(a.int("x1"), a.num("t1"), a.int("x2"), a.num("t2"))) },
	"fisher_two_sided":         compared(Fisher),
	"fisher_greater":           compared(FisherGreater),
	"fisher_midp_greater":      compared(FisherMidP),
	"boschloo_greater":         compared(Boschloo),
	"barnard_greater":          compared(Barnard),
	"prob_p2_less_p1_jeffreys": compared(ProbGreater),
	"fisher_cond_odds_ratio_ci": func(a args) []float64 {
		x, y := a.arms()
		ratio, lo, hi := OddsRatio(x, y, a.num("conf"))
		return []float64{ratio, lo, hi}
	},
	"fisher_freeman_halton": func(a args) []float64 {
		var arms []Arm
		for _, r := range arg[[][2]int](a, "table") {
			arms = append(arms, Arm{r[0], r[0] + r[1]})
		}
		return one(FreemanHalton(arms))
	},
	"newcombe_diff":           differs(Newcombe),
	"agresti_caffo_diff":      differs(AgrestiCaffo),
	"miettinen_nurminen_diff": differs(MiettinenNurminen),
	"n_zero_failures":         func(a args) []float64 { return one(float64(RuleOutN(a.num("p"), a.num("conf")))) },
	"prob_miss":               func(a args) []float64 { return one(Miss(a.num("p"), a.int("n"))) },
	"power_fisher_greater": func(a args) []float64 {
		return one(Power(a.num("p1"), a.num("p2"), a.int("n1"), a.int("n2"), a.num("alpha")))
	},
	"power_prop_n_normal": func(a args) []float64 {
		return one(NormalN(a.num("p1"), a.num("p2"), a.num("power"), a.num("alpha")))
	},
	"mcnemar_exact":         pairs(McNemar),
	"mcnemar_exact_greater": pairs(McNemarGreater),
	"mcnemar_midp":          pairs(McNemarMidP),
	"log_e_paired":          pairs(LogEPaired),
	"log_e_paired_greater":  pairs(LogEPairedGreater),
	"conf_seq_beta_mixture": func(a args) []float64 {
		return two(a.prior().Sequence(a.int("x"), a.int("n"), 1-a.num("alpha")))
	},
	"log_e_one_sample": func(a args) []float64 {
		return one(a.prior().LogE(a.int("x"), a.int("n"), a.num("p0")))
	},
	"log_e_one_sided_less": func(a args) []float64 {
		return one(a.prior().LogEBelow(a.int("x"), a.int("n"), a.num("p0")))
	},
	"log_e_two_sample_ui": func(a args) []float64 { return one(a.prior().LogEUniversal(a.arms())) },
	"log_e_two_sample_blocks": func(a args) []float64 {
		s := Blocks{NA: a.int("na"), NB: a.int("nb")}
		for _, y := range a.ints("ya") {
			s.AddA(y == 1)
		}
		for _, y := range a.ints("yb") {
			s.AddB(y == 1)
		}
		return one(s.LogE())
	},
	"cusum_bernoulli": func(a args) []float64 {
		c, last := CUSUM{P0: a.num("p0"), P1: a.num("p1")}, 0.0
		for _, x := range a.ints("xs") {
			last = c.Add(x == 1)
		}
		return two(last, c.Greatest())
	},
	"e_shiryaev_roberts": func(a args) []float64 {
		s, last := ShiryaevRoberts{P0: a.num("p0"), P1: a.num("p1")}, 0.0
		for _, x := range a.ints("xs") {
			last = s.Add(x == 1)
		}
		return one(last)
	},
	"cusum_arl": func(a args) []float64 {
		return one(RunLength(a.num("p0"), a.num("p1"), a.num("h"), a.num("p")))
	},
	"cluster_ratio": func(a args) []float64 {
		s := Ratio(a.sessions())
		return []float64{s.P, s.SE, s.Effect, s.EffectiveN}
	},
	"icc_anova":         func(a args) []float64 { return one(Ratio(a.sessions()).Correlation) },
	"p_adjust_holm":     adjust(Holm),
	"p_adjust_bh":       adjust(BenjaminiHochberg),
	"p_adjust_bonf":     adjust(Bonferroni),
	"p_adjust_hochberg": adjust(Hochberg),
	"p_adjust_by":       adjust(BenjaminiYekutieli),
	"min_attainable_p": func(a args) []float64 {
		return one(MinAttainable(a.int("N"), a.int("cases"), a.int("support")))
	},
	"tarone_k": func(a args) []float64 { return one(float64(Tarone(a.nums("minp"), a.num("alpha")))) },
	"hypergeom_sf": func(a args) []float64 {
		inside := a.int("n")
		return one(hypergeometric(inside, a.int("N")-inside, a.int("K")).upper(a.int("k")))
	},
	"cmh_chi2": func(a args) []float64 {
		chi2, p, ratio := CMH(a.strata())
		return []float64{chi2, p, ratio}
	},
	"cmh_exact": func(a args) []float64 {
		p, ratio, _, _ := CMHExact(a.strata(), 0.95)
		return two(p, ratio)
	},
	"lbeta": func(a args) []float64 { return one(logBeta(a.num("a"), a.num("b"))) },
	"qnorm": func(a args) []float64 { return one(twoSidedZ(2*a.num("p") - 1)) },
	"pbeta": func(a args) []float64 { return one(math.Exp(logBetaCDF(a.num("x"), a.num("a"), a.num("b")))) },
	"qbeta": func(a args) []float64 { return one(betaQuantile(a.num("p"), a.num("a"), a.num("b"))) },
}

// wanted reads one number or several; "inf" is +Inf.
func wanted(t *testing.T, raw json.RawMessage) (want []float64) {
	t.Helper()
	var all []any
	if json.Unmarshal(raw, &all) != nil {
		all = []any{nil}
		if err := json.Unmarshal(raw, &all[0]); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range all {
		switch v := v.(type) {
		case float64:
			want = append(want, v)
		case string:
			if v != "inf" {
				t.Fatalf("wanted %q", v)
			}
			want = append(want, math.Inf(1))
		}
	}
	return want
}

func near(got, want, tolerance float64) bool {
	if want != 0 {
		tolerance *= math.Abs(want)
	}
	return got == want || math.Abs(got-want) <= tolerance
}

// coarse are the reference values that are less exact than their tolerance says,
// with one that they keep; TestCommonOddsRatioIsExact shows it.
var coarse = map[string]float64{
	"cmh_exact-197": 1e-3, // R looks for 1/ratio within 1.2e-4
}

// The reference values are R's, scipy's and statsmodels', with their tolerance;
// each names its source.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Count   int
		Vectors []struct {
			ID, Fn, Source string
			Args           args
			Want           json.RawMessage
			Tol            float64
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	used := make(map[string]bool)
	for _, v := range file.Vectors {
		f, ok := counterparts[v.Fn]
		if !ok {
			t.Errorf("%s: nothing answers %s", v.ID, v.Fn)
			continue
		}
		used[v.Fn] = true
		v.Tol = max(v.Tol, coarse[v.ID])
		got, want := f(v.Args), wanted(t, v.Want)
		if !slices.EqualFunc(got, want, func(g, w float64) bool { return near(g, w, v.Tol) }) {
			t.Errorf("%s %s: got %v, want %v within %g (%s)", v.ID, v.Args, got, want, v.Tol, v.Source)
		}
	}
	if len(file.Vectors) != 219 || file.Count != 219 || len(used) != 53 || len(counterparts) != 53 {
		t.Errorf("%d reference values of %d functions, %d answered; want 219 of 53", len(file.Vectors), len(used), len(counterparts))
	}
}

// At the common odds ratio the expected count is the one seen, 13: R's is off.
func TestCommonOddsRatioIsExact(t *testing.T) {
	strata := [][2]Arm{{{6, 40}, {0, 40}}, {{3, 60}, {1, 60}}, {{4, 100}, {0, 100}}}
	p, ratio, lo, hi := CMHExact(strata, 0.95)
	sum := law{0, make([]float64, 1)}
	for _, s := range strata {
		sum = sum.plus(table(s[0], s[1]))
	}
	if got := sum.tilt(math.Log(ratio)).mean(); !near(got, 13, 1e-12) {
		t.Errorf("at %v the mean is %v, want 13", ratio, got)
	}
	if got := sum.tilt(math.Log(13.9329307514763)).mean(); near(got, 13, 1e-5) {
		t.Errorf("R's odds ratio is exact: the mean is %v", got)
	}
	if !near(p, 0.0014884889949869, 1e-12) || !(1 < lo && lo < ratio && ratio < hi) {
		t.Errorf("got p %v, odds ratio %v in [%v, %v]", p, ratio, lo, hi)
	}
}
