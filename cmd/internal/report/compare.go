package report

import (
	"fmt"
	"math"
	"slices"

	"turnwatch/validate/stats"
)

// Comparison sets two choices of turns side by side. B is judged relative to A.
type Comparison struct {
	A Side `json:"a"`
	B Side `json:"b"`
	Contrast
	// Suspects is the same of suspect sessions, which decide nothing here; nil
	// where it is not known which sessions they are.
	Suspects   *Contrast `json:"suspects,omitempty"`
	Stratified float64   `json:"p_stratified"`  // exact, within strata of model and batch
	More       int       `json:"sessions_more"` // in each side, at these rates, until a test of fixed size decides in four of five cases; 0 if decided, -1 if no number does
	Margin     float64   `json:"margin"`        // differences up to this are called none
	Match      []Match   `json:"calls"`         // turns of the same request on both sides
	Warnings   []string  `json:"warnings"`
}

// Contrast is what counts of sessions say of B, held against A.
type Contrast struct {
	// Word is worse, better, no_difference or undecided.
	Word       string   `json:"word"`
	After      int      `json:"sessions_after"` // of both sides, at which worse or better was first sure; 0 if neither is
	Difference Interval `json:"difference"`     // of the sessions' rates, B less A (Miettinen and Nurminen, 95%)
	P          float64  `json:"p"`              // Fisher, two-sided: holds if the number of sessions was fixed in advance
	Anytime    float64  `json:"p_anytime"`      // holds however often one looks
	OddsRatio  float64  `json:"odds_ratio"`     // 0 where it is infinite or unknown
}

// Side is one choice of turns.
type Side struct {
	Name     string  `json:"name"`
	Sessions Rate    `json:"sessions"`
	Turns    Rate    `json:"turns"`
	Suspect  Rate    `json:"suspect_sessions"`
	Batch    float64 `json:"median_batch"` // of the sessions' largest; 0 where not known
	Length   float64 `json:"median_output_tokens"`
	Kinds    []Kind  `json:"kinds"`
}

// Interval is a number with its bounds.
type Interval struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// Match is what became of requests that both sides had.
type Match struct {
	Name string  `json:"name"`
	N    int     `json:"n"`
	Of   int     `json:"of"`
	F1   float64 `json:"f1,omitempty"`
}

// alpha is the level of decisions.
const alpha = 0.05

// compare compares the choices of the options.
func (v view) compare(o Options) *Comparison {
	a := v.keep(func(r *row) bool { return o.A.match(v.d, r) })
	b := v.keep(func(r *row) bool { return o.B.match(v.d, r) })
	c := &Comparison{A: a.side(o.A.Text), B: b.side(o.B.Text), Warnings: []string{}, Margin: o.margin()}
	ka, kb := c.A.Sessions.Arm(), c.B.Sessions.Arm()
	c.Contrast = contrast(a.spans(), b.spans(), c.Margin)
	suspects := contrast(a.of((*row).suspect).spans(), b.of((*row).suspect).spans(), c.Margin)
	c.Suspects = &suspects
	c.Match = matches(a, b)
	c.Stratified = stratified(a.d.whole(a.units()), b.d.whole(b.units()))
	c.more(ka, kb)
	c.warn()
	return c
}

// contrast compares the sessions of two sides. Differences up to the margin are
// called none.
func contrast(a, b []unit, margin float64) Contrast {
	var c Contrast
	ka, kb := arm(a), arm(b)
	c.Difference.Estimate = kb.Rate() - ka.Rate()
	c.Difference.Low, c.Difference.High = stats.MiettinenNurminen(kb, ka, 0.95)
	c.P = stats.Fisher(kb, ka)
	if or, _, _ := stats.OddsRatio(kb, ka, 0.95); !math.IsInf(or, 0) {
		c.OddsRatio = or
	}
	c.Anytime, c.After = anytime(a, b)
	c.decide(ka, kb, margin)
	return c
}

// arm counts the sessions with a turn that is bad.
func arm(all []unit) stats.Arm {
	a := stats.Arm{N: len(all)}
	for i := range all {
		if all[i].K > 0 {
			a.K++
		}
	}
	return a
}

// margin returns the difference that is called none.
func (o *Options) margin() float64 {
	if o.Margin > 0 {
		return o.Margin
	}
	return 0.05
}

func (v view) side(name string) Side {
	s := Side{Name: name, Kinds: v.kindsOf(func(r *row) uint64 { return r.kinds })}
	s.Sessions, s.Turns = v.rates()
	s.Suspect, _ = v.of((*row).suspect).rates()
	all := v.spans()
	s.Batch = median(all, func(u *unit) int32 { return u.batch })
	s.Length = median(all, func(u *unit) int32 { return u.tokens })
	return s
}

// median returns the median of what is known, 0 if nothing is.
func median(all []unit, of func(*unit) int32) float64 {
	var known []int32
	for i := range all {
		if n := of(&all[i]); n >= 0 {
			known = append(known, n)
		}
	}
	if len(known) == 0 {
		return 0
	}
	slices.Sort(known)
	m := len(known) / 2
	if len(known)%2 == 0 {
		return float64(known[m-1]+known[m]) / 2
	}
	return float64(known[m])
}

// anytime compares the sessions in the order in which they began, and says after
// how many of both sides they were first told apart, 0 if they are not.
func anytime(a, b []unit) (p float64, after int) {
	na, nb := blocks(len(a), len(b))
	s := stats.Blocks{NA: na, NB: nb}
	for len(a) > 0 || len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && a[0].begin <= b[0].begin {
			s.AddA(a[0].K > 0)
			a = a[1:]
		} else {
			s.AddB(b[0].K > 0)
			b = b[1:]
		}
		if ka, kb := s.Arms(); after == 0 && s.P() <= alpha {
			after = ka.N + kb.N
		}
	}
	return s.P(), after
}

// blocks returns how many sessions of each side make a block: near their ratio,
// which their outcomes have no part in.
func blocks(a, b int) (na, nb int) {
	const most = 16
	ratio := float64(max(a, b)) / float64(max(1, min(a, b)))
	n := int(min(most, max(1, math.Floor(ratio))))
	if a >= b {
		return n, 1
	}
	return 1, n
}

// stratified compares within model and range of batches.
func stratified(a, b []unit) float64 {
	type stratum struct {
		model int32
		batch string
	}
	at := map[stratum]int{}
	var strata [][2]stats.Arm
	add := func(units []unit, side int) {
		for i := range units {
			k := stratum{units[i].model, batchRange(units[i].batch)}
			j, ok := at[k]
			if !ok {
				j = len(strata)
				at[k] = j
				strata = append(strata, [2]stats.Arm{})
			}
			strata[j][side].N++
			if units[i].K > 0 {
				strata[j][side].K++
			}
		}
	}
	add(b, 0)
	add(a, 1)
	p, _, _, _ := stats.CMHExact(strata, 0.95)
	return p
}

// decide finds the word. It must hold at every look, for a report is made again
// and again.
func (c *Contrast) decide(a, b stats.Arm, margin float64) {
	switch d := c.Difference; {
	case a.N == 0 || b.N == 0:
		c.Word = "undecided"
	case c.Anytime <= alpha && d.Estimate > 0:
		c.Word = "worse"
	case c.Anytime <= alpha && d.Estimate < 0:
		c.Word = "better"
	case ruledOut(a, b, margin):
		c.Word = "no_difference"
	default:
		c.Word = "undecided"
	}
}

// ruledOut reports whether every difference beyond the margin is ruled out: each
// rate lies in a sequence that ever leaves the truth out once in forty times.
// Difference holds for sessions that were counted out in advance.
func ruledOut(a, b stats.Arm, margin float64) bool {
	var w stats.Prior
	lowA, highA := w.Sequence(a.K, a.N, 1-alpha/2)
	lowB, highB := w.Sequence(b.K, b.N, 1-alpha/2)
	return max(highB-lowA, highA-lowB) <= margin
}

// more plans the sessions that are missing.
func (c *Comparison) more(a, b stats.Arm) {
	const power = 0.8
	if c.Word != "undecided" {
		return
	}
	hi, lo := max(a.Rate(), b.Rate()), min(a.Rate(), b.Rate())
	if hi == lo || a.N == 0 || b.N == 0 {
		c.More = -1
		return
	}
	c.More = max(1, stats.FixedN(hi, lo, power, alpha)-min(a.N, b.N))
}

// warn says what makes the sides hard to compare.
func (c *Comparison) warn() {
	differ := func(what string, a, b float64) {
		if a > 0 && b > 0 && (a > 1.5*b || b > 1.5*a) {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s differs: median %g in A, %g in B; read the stratified p-value, or compare at the same load", what, a, b))
		}
	}
	differ("the batch", c.A.Batch, c.B.Batch)
	differ("the length of answers", c.A.Length, c.B.Length)
}

// exit is the exit code of the comparison.
func (c *Comparison) exit() int {
	switch c.Word {
	case "worse":
		return ExitCorrupted
	case "undecided":
		return ExitUndecided
	}
	return ExitGood
}
