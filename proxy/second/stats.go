package second

import (
	"maps"
	"sync"

	"turnwatch/proxy/turn"
	"turnwatch/validate/opinion"
)

// Drop says why a turn was not asked about.
type Drop string

// The reasons.
const (
	DropQueue   Drop = "queue"    // too many waited
	DropRate    Drop = "rate"     // -opinion-rate
	DropTokens  Drop = "tokens"   // -opinion-token-budget
	DropTooLong Drop = "too_long" // -opinion-max-tokens
	DropClosed  Drop = "shutdown"
	DropBroken  Drop = "broken" // we broke on it
)

// Drops returns all of them.
func Drops() []Drop {
	return []Drop{DropQueue, DropRate, DropTokens, DropTooLong, DropClosed, DropBroken}
}

// Count is what opinions are counted by.
type Count struct {
	Word string
	Of   turn.Sample
	By   string
}

// Stats is what an Asker has done so far. Every count of a closed set is present.
type Stats struct {
	Opinions map[Count]int64
	Unknown  map[opinion.Reason]int64
	Dropped  map[Drop]int64
	Waiting  int // gauge
}

// book counts.
type book struct {
	mu sync.Mutex
	Stats
}

func newBook() book {
	s := Stats{Opinions: map[Count]int64{}, Unknown: map[opinion.Reason]int64{}, Dropped: map[Drop]int64{}}
	for _, w := range opinion.Words() {
		for _, of := range []turn.Sample{turn.Flagged, turn.Drawn} {
			for _, by := range []string{byScores, byReplays, byNone} {
				if by != byNone || w == opinion.Unknown {
					s.Opinions[Count{string(w), of, by}] = 0
				}
			}
		}
	}
	for _, r := range Reasons() {
		s.Unknown[r] = 0
	}
	for _, d := range Drops() {
		s.Dropped[d] = 0
	}
	return book{Stats: s}
}

func (b *book) drop(why Drop) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Dropped[why]++
}

func (b *book) add(o *turn.Opinion) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Opinions[Count{o.Word, o.Of, o.By}]++
	if o.Reason != "" {
		b.Unknown[opinion.Reason(o.Reason)]++
	}
}

// Stats returns what was done so far.
func (a *Asker) Stats() Stats {
	a.book.mu.Lock()
	defer a.book.mu.Unlock()
	s := a.book.Stats
	s.Opinions, s.Unknown, s.Dropped = maps.Clone(s.Opinions), maps.Clone(s.Unknown), maps.Clone(s.Dropped)
	s.Waiting = len(a.queue)
	return s
}
