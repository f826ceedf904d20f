package pairs

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"turnwatch/proxy/turn"
)

// Limits say when a comparison is good enough.
type Limits struct {
	// Margin is the difference that does not matter, as a share. Default 0.02.
	Margin float64
	// Batch is how many times as large the batch of one arm may be on average as that of
	// another that it is compared with. Default 1.5; what is below 1 is no limit.
	Batch float64
}

func (l Limits) withDefaults() Limits {
	return Limits{Margin: cmp.Or(l.Margin, 0.02), Batch: cmp.Or(l.Batch, 1.5)}
}

// maxComparisons bounds the comparisons that are remembered, the latest ones.
const maxComparisons = 64

// Book adds up pairs. It is safe for concurrent use.
type Book struct {
	limits Limits

	mu   sync.Mutex
	all  []*account // in the order of their last pair
	arms map[turn.Arm]*Arm
}

// NewBook makes an empty one.
func NewBook(l Limits) *Book {
	return &Book{limits: l.withDefaults(), arms: map[turn.Arm]*Arm{}}
}

// key tells comparisons apart.
type key struct {
	model         string
	against       turn.Arm
	print, versus string // fingerprints of the candidate and of what it is held against
}

// account is what is counted for a comparison.
type account struct {
	key
	live        string // latest fingerprint of the live server
	since, last time.Time
	ratio       float64

	corrupted, suspect, unanswered tally // candidate first
	noise                          tally // control first, then live
	beside                         tally // candidate first, then live
	arms                           map[turn.Arm]*measures
	strata                         [strata]tally
	differ                         Differ
}

// measures are taken of one arm's answers.
type measures struct{ batch, ttfb, token, tokens mean }

// Add takes in a pair.
func (b *Book) Add(p *turn.Pair) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range p.Sides {
		b.count(&p.Sides[i])
	}
	if a := b.account(p); a != nil {
		a.add(p)
	}
}

// count counts what became of a request in an arm. mu is held.
func (b *Book) count(s *turn.Side) {
	if s.Arm == turn.Live {
		return
	}
	a := b.arms[s.Arm]
	if a == nil {
		a = &Arm{Dropped: map[string]int{}, Failed: map[string]int{}}
		b.arms[s.Arm] = a
	}
	a.Offered++
	switch s.State {
	case turn.Paired:
		a.Paired++
	case turn.Dropped:
		a.Dropped[s.Why]++
	default:
		a.Failed[s.Why]++
	}
}

// account returns the comparison that a pair belongs to, nil if none: one that the
// candidate has no answer in belongs to the latest of its model. mu is held.
func (b *Book) account(p *turn.Pair) *account {
	k, known := keyOf(p)
	for i, a := range slices.Backward(b.all) {
		if a.key == k || !known && a.model == k.model {
			if known {
				b.all = append(slices.Delete(b.all, i, i+1), a)
			}
			return a
		}
	}
	if !known {
		return nil
	}
	a := &account{key: k, since: p.Time, arms: map[turn.Arm]*measures{}}
	if len(b.all) >= maxComparisons {
		b.all = slices.Delete(b.all, 0, 1)
	}
	b.all = append(b.all, a)
	return a
}

// keyOf reads the comparison from a pair. It is not known where the candidate, or the
// control that there is, has no answer.
func keyOf(p *turn.Pair) (k key, known bool) {
	k.model = p.Model
	candidate, control, live := p.Side(turn.Candidate), p.Side(turn.Control), p.Side(turn.Live)
	if !answered(candidate) || !answered(live) || control != nil && !answered(control) {
		return k, false
	}
	k.print = candidate.Print
	if k.against, k.versus = turn.Live, live.Print; control != nil {
		k.against, k.versus = turn.Control, control.Print
	}
	return k, true
}

func answered(s *turn.Side) bool { return s != nil && s.State == turn.Paired }

// add takes in a pair of the comparison.
func (a *account) add(p *turn.Pair) {
	a.unanswers(p)
	candidate, live := p.Side(turn.Candidate), p.Side(turn.Live)
	t := p.Twin(a.against, turn.Candidate)
	if t == nil {
		return
	}
	a.ratio, a.live = p.Ratio, live.Print
	if p.Time.Before(a.since) {
		a.since = p.Time
	}
	if p.Time.After(a.last) {
		a.last = p.Time
	}
	a.corrupted.add(t.Outcome, turn.Candidate, a.against, p.Session)
	a.suspect.add(t.Suspects, turn.Candidate, a.against, p.Session)
	a.strata[stratum(live.Tokens, candidate.Tokens)].add(t.Outcome, turn.Candidate, a.against, p.Session)
	a.differ.add(t)
	if t := p.Twin(turn.Live, turn.Control); t != nil {
		a.noise.add(t.Outcome, turn.Control, turn.Live, p.Session)
	}
	if t := p.Twin(turn.Live, turn.Candidate); t != nil {
		a.beside.add(t.Outcome, turn.Candidate, turn.Live, p.Session)
	}
	for i := range p.Sides {
		a.measure(&p.Sides[i])
	}
}

// unanswers counts which of the two arms had no answer to a request that both got. What
// an outage spoils goes wrong together: here not sessions vote, but minutes.
func (a *account) unanswers(p *turn.Pair) {
	first, second := p.Side(turn.Candidate), p.Side(a.against)
	if first == nil || second == nil || first.State == turn.Dropped || second.State == turn.Dropped {
		return
	}
	o := turn.BothClean
	switch bad, worse := first.State == turn.Failed, second.State == turn.Failed; {
	case bad && worse:
		o = turn.Both
	case bad:
		o = turn.Only(turn.Candidate)
	case worse:
		o = turn.Only(a.against)
	}
	a.unanswered.add(o, turn.Candidate, a.against, p.Time.Truncate(time.Minute).String())
}

func (a *account) measure(s *turn.Side) {
	if !answered(s) {
		return
	}
	m := a.arms[s.Arm]
	if m == nil {
		m = new(measures)
		a.arms[s.Arm] = m
	}
	m.batch.add(float64(s.Batch))
	m.ttfb.add(s.TTFBMS)
	m.token.add(s.TokenMS)
	m.tokens.add(float64(s.Tokens))
}

// strata is how many ranges of output lengths there are.
const strata = 4

// stratumNames are their names, in tokens of the live answer.
func stratumNames() [strata]string { return [strata]string{"1-128", "129-512", "513-2048", "2049+"} }

// stratum is the range of an answer's length: the live one's, which neither arm has a
// part in, as far as it is known.
func stratum(live, other int64) int {
	switch n := cmp.Or(live, other); {
	case n <= 128:
		return 0
	case n <= 512:
		return 1
	case n <= 2048:
		return 2
	}
	return 3
}
