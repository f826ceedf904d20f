package stress

import (
	"fmt"
	"math"
	"strings"

	"turnwatch/validate/stats"
)

// Says tells in sentences what a count of corrupted sessions proves, what it
// cannot tell and how many more sessions that would take.
func (r Rate) Says() []string {
	switch {
	case r.All == 0:
		return []string{"No session could be judged: nothing is known."}
	case r.Corrupted == 0:
		return r.saysNone()
	}
	return r.saysSome()
}

func (r Rate) saysNone() []string {
	n := r.All
	says := []string{fmt.Sprintf("Rules out that %s of sessions or more are corrupted (95%%, one-sided); %s for whoever looked after each session.",
		points(stats.Upper(0, n, 0.95)), points(RuledOut(0, n)))}
	for _, p := range []float64{0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0001} {
		if miss := stats.Miss(p, n); miss >= 0.2 {
			says = append(says, fmt.Sprintf("Cannot tell a clean server from one that corrupts %s of sessions: that shows nothing in %s of such runs.", points(p), points(miss)))
			break
		}
	}
	return append(says, r.toRuleOut()...)
}

// toRuleOut says how many more clean sessions rule out less.
func (r Rate) toRuleOut() []string {
	var more []string
	for _, p := range []float64{0.1, 0.05, 0.02, 0.01, 0.001} {
		if need := stats.RuleOutN(p, 0.95); need > r.All && len(more) < 2 {
			more = append(more, fmt.Sprintf("%d more rule out %s (%d if looked at after each)", need-r.All, points(p), stats.RuleOutPeekSafeN(p, 0.95, 0)-r.All))
		}
	}
	if len(more) == 0 {
		return nil
	}
	return []string{"Without a corrupted one among them, " + strings.Join(more, ", ") + "."}
}

func (r Rate) saysSome() []string {
	p := float64(r.Corrupted) / float64(r.All)
	lo, hi := stats.Wilson(r.Corrupted, r.All)
	says := []string{fmt.Sprintf("The server corrupts sessions: %s to %s of them (95%%).", points(lo), points(hi))}
	if p < 1 {
		says = append(says, fmt.Sprintf("Rules out more than %s (95%%, one-sided); %s for whoever looked after each session.",
			points(stats.Upper(r.Corrupted, r.All, 0.95)), points(RuledOut(r.Corrupted, r.All))))
	}
	says = append(says, r.mistaken(hi)...)
	return append(says, fmt.Sprintf("To show that a change ends it takes %s; that it halves it, %s.",
		sessions(stats.FixedN(p, 0, 0.8, Level), peekSafe(p, 0)), sessions(stats.FixedN(p, p/2, 0.8, Level), peekSafe(p, p/2))))
}

// mistaken warns of what a few corrupted sessions look like from a higher rate.
func (r Rate) mistaken(hi float64) []string {
	chance := stats.AtMost(r.Corrupted, r.All, hi)
	if r.All > 400 || r.Corrupted == r.All {
		return nil
	}
	return []string{fmt.Sprintf("Cannot tell it from %s: %d or fewer in %d come about in %s of runs at that rate.", points(hi), r.Corrupted, r.All, points(chance))}
}

func sessions(fixed, peek int) string {
	switch {
	case fixed == 0:
		return "more sessions than can be said"
	case peek == 0:
		return fmt.Sprintf("%d sessions on each side", fixed)
	}
	return fmt.Sprintf("%d sessions on each side (%d if looked at after each)", fixed, peek)
}

// Against tells what an earlier count says of this one.
func (r Rate) Against(earlier Rate) []string {
	a, b := stats.Arm{K: earlier.Corrupted, N: earlier.All}, stats.Arm{K: r.Corrupted, N: r.All}
	if a.N == 0 || b.N == 0 {
		return nil
	}
	p := stats.Fisher(a, b)
	lo, hi := stats.MiettinenNurminen(b, a, 0.95)
	head := fmt.Sprintf("Against %d/%d = %s before", a.K, a.N, points(a.Rate()))
	tail := fmt.Sprintf("(Fisher's exact test, p = %s; difference %+.1f points [%+.1f, %+.1f])", small(p), 100*(b.Rate()-a.Rate()), 100*lo, 100*hi)
	if p <= Level {
		return []string{head + ": another rate " + tail + "."}
	}
	high, low := max(a.Rate(), b.Rate()), min(a.Rate(), b.Rate())
	need := "a difference as small as this takes more sessions than can be said"
	if fixed := stats.FixedN(high, low, 0.8, Level); fixed > 0 {
		need = fmt.Sprintf("to tell %s from %s takes %s", points(high), points(low), sessions(fixed, peekSafe(high, low)))
	}
	return []string{head + ": no difference is shown " + tail + "; " + need + "."}
}

// Says tells in sentences what a comparison proves.
func (c *Comparison) Says(margin float64) []string {
	a, b := c.Arms()
	lo, hi := c.Difference()
	seen := fmt.Sprintf("%d pairs, %s on A and %s on B, anytime-valid p = %s", c.pairs.N, points(a.Rate()), points(b.Rate()), small(c.P()))
	size := fmt.Sprintf("The difference is %+.1f points: %+.1f to %+.1f (95%%, however often one looks).", 100*(b.Rate()-a.Rate()), 100*lo, 100*hi)
	switch word := c.Word(margin); word {
	case stats.Worse, stats.Better:
		return []string{fmt.Sprintf("B is %s than A: decided after %d pairs; %s.", word, c.after, seen), size + " How large it is takes more than that it is there."}
	case stats.Same:
		return []string{fmt.Sprintf("No difference of %s or more: %s.", points(margin), seen), size}
	}
	return []string{"Inconclusive: " + seen + ".", size, c.wants(a, b)}
}

// wants says what it would take to decide.
func (c *Comparison) wants(a, b stats.Arm) string {
	if n := c.More(); n > 0 {
		return fmt.Sprintf("To tell %s from %s, looked at after each pair, takes about %d pairs in all.", points(max(a.Rate(), b.Rate())), points(min(a.Rate(), b.Rate())), n)
	}
	return fmt.Sprintf("What was seen is too alike for a number; to tell 15%% from 1%% takes about %d pairs, 5%% from none %d.", peekSafe(0.15, 0.01), peekSafe(0.05, 0))
}

// RuledOut is the least share that k corrupted of n sessions rule out for whoever
// looks after each: the root of stats.Prior.LogEBelow.
func RuledOut(k, n int) float64 {
	if n == 0 || k == n {
		return 1
	}
	lo, hi := float64(k)/float64(n), 1.0
	for range 60 {
		if mid := (lo + hi) / 2; (stats.Prior{}).LogEBelow(k, n, mid) >= math.Log(1/Level) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// points writes a share as a percentage, with a digit after the point or, below
// 0.1%, as many as it takes.
func points(p float64) string {
	if p > 0 && p < 0.001 {
		return fmt.Sprintf("%.1g%%", 100*p)
	}
	return fmt.Sprintf("%.1f%%", 100*p)
}

// small writes a p-value.
func small(p float64) string {
	if p < 0.001 {
		return fmt.Sprintf("%.1g", p)
	}
	return fmt.Sprintf("%.3f", p)
}
