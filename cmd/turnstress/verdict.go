package main

import (
	"fmt"
	"math"

	"turnwatch/cmd/internal/stress"
	"turnwatch/validate/stats"
)

// verdict is what a run comes to: it decides when to stop, what to say and how to
// exit.
type verdict struct {
	o       *runOptions
	compare stress.Comparison // with two targets
	order   stress.Order
	seen    stats.Arm      // with one: sessions that count, in the order of their seeds
	result  *stress.Result // at the end; nil where nothing could be run
}

func newVerdict(o *runOptions) *verdict { return &verdict{o: o} }

func (v *verdict) two() bool { return v.o.b != "" }

// session takes in a session and says why the load is to stop, if it is.
func (v *verdict) session(s *stress.Session) string {
	if v.two() {
		v.compare.Add(s)
		if word := v.compare.Word(float64(v.o.margin)); v.o.decided && word != stats.Undecided {
			return "decided: B is " + words[word]
		}
		return ""
	}
	for _, due := range v.order.Add(s) {
		v.count(due)
	}
	switch {
	case !v.o.decided || v.o.ruleOut == 0:
	case v.ruledOut():
		return fmt.Sprintf("decided: %s is ruled out", v.o.ruleOut.String())
	case v.hopeless():
		return fmt.Sprintf("decided: more than %s of sessions are corrupted", v.o.ruleOut.String())
	}
	return ""
}

func (v *verdict) count(s *stress.Session) {
	if !s.Judged() {
		return
	}
	v.seen.N++
	if s.Corrupt() {
		v.seen.K++
	}
}

var words = map[stats.Word]string{stats.Worse: "worse than A", stats.Better: "better than A", stats.Same: "no different from A", stats.Undecided: "undecided"}

// bound is what an E-value must reach, as a logarithm.
func bound() float64 { return -math.Log(stress.Level) }

// ruledOut reports whether the share of -rule-out is ruled out, however often one
// has looked.
func (v *verdict) ruledOut() bool {
	return stats.Prior{}.LogEBelow(v.seen.K, v.seen.N, float64(v.o.ruleOut)) >= bound()
}

// hopeless reports whether it is proven that more are corrupted than that.
func (v *verdict) hopeless() bool {
	return stats.Prior{}.LogEAbove(v.seen.K, v.seen.N, float64(v.o.ruleOut)) >= bound()
}

// fixed reports whether the share is ruled out by sessions that were counted in
// advance: all were played, and nobody asked to stop at a look.
func (v *verdict) fixed() bool {
	all := v.result.Of(0).Sessions
	return !v.o.decided && v.result.Stopped == "" && all.All > 0 && stats.Upper(all.Corrupted, all.All, 0.95) <= float64(v.o.ruleOut)
}

// code is how to exit.
func (v *verdict) code() int {
	if v.result == nil {
		return exitUnable
	}
	if v.two() {
		return v.compared()
	}
	all := v.result.Of(0)
	switch {
	case v.o.ruleOut > 0 && (v.ruledOut() || v.fixed()):
		return exitGood
	case all.Turns.Corrupted > 0:
		return exitCorrupted
	case v.o.ruleOut > 0 || all.Sessions.All == 0 || v.result.Stopped != "":
		return exitUndecided
	}
	return exitGood
}

func (v *verdict) compared() int {
	switch v.compare.Word(float64(v.o.margin)) {
	case stats.Worse:
		return exitCorrupted
	case stats.Better, stats.Same:
		return exitGood
	}
	return exitUndecided
}
