package stats

import "math"

// Decisive is the E-value from which on one side is called worse, or better: with both
// questions asked, and looked at after each pair, at most one comparison of equal sides
// in twenty is ever called either.
const Decisive = 40

// Word is what a comparison says of its first side.
type Word string

// The words. Same says that there is no difference larger than a margin.
const (
	Worse         Word = "worse"
	Better        Word = "better"
	Same          Word = "no difference"
	Undecided     Word = "undecided"
	NotComparable Word = "not comparable"
)

// Decision is what pairs say of their first side. VoteB and VoteC count each session
// once, by the first of its pairs that is in B or in C: pairs of one session go wrong
// together, and a direction that is taken from all of them decides too soon.
type Decision struct {
	Pairs
	VoteB, VoteC int
}

// LogEWorse returns the E-value against "the first is not corrupted more often".
func (d Decision) LogEWorse() float64 { return LogEPairedGreater(d.VoteB, d.VoteC) }

// LogEBetter returns the E-value against "the first is not corrupted less often".
func (d Decision) LogEBetter() float64 { return LogEPairedGreater(d.VoteC, d.VoteB) }

// Word says whether the first side is worse, better, or no more than margin away.
func (d Decision) Word(margin float64) Word {
	switch least := math.Log(Decisive); {
	case d.LogEWorse() >= least:
		return Worse
	case d.LogEBetter() >= least:
		return Better
	case d.within(margin):
		return Same
	}
	return Undecided
}

// sequenceLimit is ln 20: what a 95% sequence leaves out has that E-value.
const sequenceLimit = 2.995732273553991

// within reports whether the 95% sequence of the difference lies within the margin.
func (d Decision) within(margin float64) bool {
	return d.N > 0 && math.Abs(d.difference()) < margin && min(d.LogE(margin), d.LogE(-margin)) >= sequenceLimit
}

// muchMore bounds More.
const muchMore = 1 << 20

// More returns about how many pairs are still to come until there is a word, if they
// go on as they did; 0 if there is one, -1 if there is none within a million.
func (d Decision) More(margin float64) int {
	if d.Word(margin) != Undecided {
		return 0
	}
	now := max(1, d.N)
	decided := func(n int) bool { return d.at(n).Word(margin) != Undecided }
	hi := now
	for !decided(hi) {
		if hi *= 2; hi > muchMore {
			return -1
		}
	}
	return least(now, hi, decided) - d.N
}

// at is what n pairs would say at the rates of these.
func (d Decision) at(n int) Decision {
	f := float64(n) / float64(max(1, d.N))
	scaled := func(k int) int { return int(math.Round(float64(k) * f)) }
	return Decision{Pairs{scaled(d.B), scaled(d.C), n}, scaled(d.VoteB), scaled(d.VoteC)}
}
