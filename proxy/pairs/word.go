package pairs

import (
	"fmt"
	"math"

	"turnwatch/proxy/turn"
	"turnwatch/validate/stats"
)

// fewBatches is how many answers of known batch a limit on batches needs.
const fewBatches = 8

// word says what the comparison has come to, and why in a sentence.
func (a *account) word(l Limits) (stats.Word, string) {
	w := a.corrupted.Word(l.Margin)
	switch unlike := a.unlike(l, a.against); {
	case a.against == turn.Live:
		return stats.NotComparable, "there is no control, and the live server runs at its own batch" + a.remedy()
	case unlike != "":
		return stats.NotComparable, unlike
	case w == stats.Worse:
	case a.unseen():
		return stats.NotComparable, "the control does not show what the live server does, at another batch" + a.remedy()
	case w == stats.Same:
		if unlike := a.unlike(l, turn.Live); unlike != "" {
			return stats.NotComparable, "no difference, but " + unlike + a.remedy()
		}
	}
	return w, a.sentence(w, l)
}

// unlike says how the batches of the candidate and another arm differ, if they do too
// much.
func (a *account) unlike(l Limits, other turn.Arm) string {
	x, y := a.arms[turn.Candidate], a.arms[other]
	if x == nil || y == nil || x.batch.n < fewBatches || y.batch.n < fewBatches || l.Batch < 1 {
		return ""
	}
	p, q := x.batch.value(), y.batch.value()
	if max(p, q) <= l.Batch*min(p, q) || math.Abs(p-q) < 1 {
		return ""
	}
	return fmt.Sprintf("the candidate runs at a batch of %.1f and the %s at %.1f, further apart than %g times", p, other, q, l.Batch)
}

// unseen reports whether the live server is corrupted more often than the control,
// which should be the same: the mirror lacks what makes it so.
func (a *account) unseen() bool { return a.noise.LogEBetter() >= math.Log(stats.Decisive) }

// needs is the share of requests at which the candidate's batch would be that of the
// live server; 0 when not known.
func (a *account) needs() float64 {
	x, y := a.arms[turn.Candidate], a.arms[turn.Live]
	if x == nil || y == nil || x.batch.n == 0 || y.batch.n == 0 {
		return 0
	}
	return min(1, math.Ceil(100*a.ratio*y.batch.value()/x.batch.value())/100)
}

// remedy says what would make arms comparable.
func (a *account) remedy() string {
	s := ""
	if n := a.needs(); n > a.ratio {
		s = fmt.Sprintf("; at -shadow-ratio %g its batch would be the live server's", n)
	}
	if a.against == turn.Live {
		s += "; run a control"
	}
	return s
}

// sentence words what was found.
func (a *account) sentence(w stats.Word, l Limits) string {
	d := &a.corrupted
	lo, hi := d.Sequence(0.95)
	seen := float64(d.B-d.C) / float64(max(1, d.N))
	found := fmt.Sprintf("%s %d pairs, %+.1f points [%+.1f, %+.1f], sessions %d to %d", plainly(w, l.Margin), d.N, 100*seen, 100*lo, 100*hi, d.VoteB, d.VoteC)
	switch {
	case w == stats.Worse:
		found += fmt.Sprintf(", E = %.3g", value(d.LogEWorse()))
	case w == stats.Better:
		found += fmt.Sprintf(", E = %.3g", value(d.LogEBetter()))
	case w == stats.Undecided && d.More(l.Margin) > 0:
		found += fmt.Sprintf("; about %d pairs more", d.More(l.Margin))
	case w == stats.Undecided:
		found += "; no end in sight at these rates"
	}
	if s := a.suspect.Word(l.Margin); s == stats.Worse || s == stats.Better {
		found += fmt.Sprintf("; by suspect turns, which convict nobody, it is %s", s)
	}
	if a.noise.N > 0 {
		found += fmt.Sprintf("; of the control and the live server %.1f%% of pairs differ", 100*float64(a.noise.B+a.noise.C)/float64(a.noise.N))
	}
	return found
}

// plainly spells a word in a sentence.
func plainly(w stats.Word, margin float64) string {
	switch w {
	case stats.Worse, stats.Better:
		return "the candidate is " + string(w) + " than the control after"
	case stats.Same:
		return fmt.Sprintf("no difference larger than %g points after", 100*margin)
	}
	return "undecided after"
}
