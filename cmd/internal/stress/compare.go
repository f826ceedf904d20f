package stress

import (
	"cmp"

	"turnwatch/validate/stats"
)

// Level is the share of comparisons between equal servers that may be called a
// difference, however often one looks.
const Level = 0.05

// Comparison holds the second of two targets against the first while their
// sessions arrive. Sessions of one seed are a pair; pairs are taken in the order
// of their seeds, whichever ended first, so that what a corrupted session takes in
// time has no say. The zero Comparison is ready to use.
type Comparison struct {
	blocks  stats.Blocks
	pairs   stats.Pairs // in B only the second target's session was corrupted, in C only the first's
	word    stats.Word
	after   int // pairs at which there was a word
	next    int // the pair that is due
	waiting map[int][2]*Session
}

// Add takes in a session of either target.
func (c *Comparison) Add(s *Session) {
	if c.waiting == nil {
		c.waiting = map[int][2]*Session{}
	}
	pair := c.waiting[s.Number]
	pair[s.Target] = s
	c.waiting[s.Number] = pair
	for {
		due := c.waiting[c.next]
		if due[0] == nil || due[1] == nil {
			return
		}
		delete(c.waiting, c.next)
		c.next++
		c.pair(due[0], due[1])
	}
}

// pair takes in a pair, unless one of its sessions does not count.
func (c *Comparison) pair(first, second *Session) {
	if !first.Judged() || !second.Judged() {
		return
	}
	a, b := first.Corrupt(), second.Corrupt()
	c.blocks.AddA(a)
	c.blocks.AddB(b)
	c.pairs.N++
	switch {
	case b && !a:
		c.pairs.B++
	case a && !b:
		c.pairs.C++
	}
	if c.word == "" && c.blocks.P() <= Level {
		c.word, c.after = stats.Better, c.pairs.N
		if first, second := c.blocks.Arms(); second.Rate() > first.Rate() {
			c.word = stats.Worse
		}
	}
}

// Word says what the second target is, held against the first. With a margin it is
// no difference where every difference as large as that is ruled out.
func (c *Comparison) Word(margin float64) stats.Word {
	if c.word != "" || margin == 0 {
		return cmp.Or(c.word, stats.Undecided)
	}
	if lo, hi := c.Difference(); -margin < lo && hi < margin {
		return stats.Same
	}
	return stats.Undecided
}

// Difference is an interval of the second's share less the first's that holds
// however often one looks, in 95 of 100 comparisons.
func (c *Comparison) Difference() (lo, hi float64) { return c.pairs.Sequence(1 - Level) }

// Arms are the counts of complete pairs.
func (c *Comparison) Arms() (first, second stats.Arm) { return c.blocks.Arms() }

// P is the p-value that holds at every look.
func (c *Comparison) P() float64 { return c.blocks.P() }

// More is about how many pairs it would take in all to tell the shares that were
// seen apart, 0 where they are equal or too close.
func (c *Comparison) More() int {
	a, b := c.Arms()
	high, low := max(a.Rate(), b.Rate()), min(a.Rate(), b.Rate())
	return peekSafe(high, low)
}

// What is simulated to say how many sessions something takes is bounded.
const (
	limit     = 10_000
	mostFixed = 1_500
)

// peekSafe is stats.PeekSafeN at our level and 80% power, 0 where it is too many.
func peekSafe(high, low float64) int {
	if n := stats.FixedN(high, low, 0.8, Level); n == 0 || n > mostFixed {
		return 0
	}
	return stats.PeekSafeN(high, low, 0.8, Level, limit, 1)
}
