package sglang

import (
	"maps"
	"sync"
)

// Stats is what a Tagger has done so far.
type Stats struct {
	Polls   map[string]int64 // by endpoint and what became of it, such as "loads failed"
	Facts   map[string]int64 // turns that facts were due for, by what became of them
	Changes int64            // of the configuration
}

// FactsOutcomes returns what may become of asking for facts.
func FactsOutcomes() []string {
	return []string{factsOK, factsAbsent, factsFailed, factsLies, factsLate, factsFull, factsBackoff}
}

type stats struct {
	mu      sync.Mutex
	polls   map[string]int64
	facts   map[string]int64
	changes int64
}

func newStats() *stats {
	s := &stats{polls: make(map[string]int64), facts: make(map[string]int64)}
	for _, what := range FactsOutcomes() {
		s.facts[what] = 0
	}
	return s
}

func (s *stats) add(to *map[string]int64, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	(*to)[what]++
}

func (s *stats) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
}

// Stats returns what was done so far.
func (g *Tagger) Stats() Stats {
	s := g.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Polls: maps.Clone(s.polls), Facts: maps.Clone(s.facts), Changes: s.changes}
}
