package pairs

import (
	"cmp"
	"slices"

	"turnwatch/proxy/turn"
)

// Sum tells comparisons apart whose counts were added up elsewhere.
type Sum struct {
	Model   string
	Against turn.Arm
	Print   string // of the candidate
}

// Counts are the counts of a comparison.
type Counts struct {
	Against turn.Arm

	t tally
}

// Outcome adds n pairs of an outcome.
func (c *Counts) Outcome(o turn.Outcome, n int) {
	switch o {
	case turn.BothClean:
		c.t.Clean += n
	case turn.Both:
		c.t.Both += n
	case turn.Only(turn.Candidate):
		c.t.B += n
	case turn.Only(c.Against):
		c.t.C += n
	default:
		c.t.Unjudged += n
		return
	}
	c.t.N += n
}

// Vote adds n sessions that speak against an arm.
func (c *Counts) Vote(worse turn.Arm, n int) {
	if worse == turn.Candidate {
		c.t.VoteB += n
	} else {
		c.t.VoteC += n
	}
}

// Summed is the report of counts that were added up elsewhere. Neither times nor batches
// are known of them: all comparisons are current, and none is refused for its batch.
func Summed(sums map[Sum]*Counts, l Limits) Report {
	r := Report{Current: []Comparison{}, Earlier: []Comparison{}, Arms: map[turn.Arm]Arm{}}
	for k, c := range sums {
		a := account{key: key{model: k.Model, against: k.Against, print: k.Print}, corrupted: c.t}
		r.Current = append(r.Current, a.comparison(l.withDefaults()))
	}
	slices.SortFunc(r.Current, func(a, b Comparison) int { return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Print, b.Print)) })
	r.sum()
	return r
}
