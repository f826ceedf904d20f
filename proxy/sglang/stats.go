package sglang

import (
	"maps"
	"sync"
)

// Stats is what a Tagger has done so far.
type Stats struct {
	Polls    []Polls          // one a thing that is polled
	Facts    map[string]int64 // turns that facts were due for, by what became of them
	Changes  int64            // of the configuration
	Restarts int64            // times that the server seemed to have been started anew
}

// Polls counts the polls of one thing.
type Polls struct {
	Name       string
	OK, Failed int64
}

// The things that are polled.
const (
	pollModel   = "model_info"
	pollServer  = "server_info"
	pollLoads   = "loads"
	pollMetrics = "metrics"
	pollLog     = "status_log"
)

// FactsOutcomes returns what may become of asking for facts.
func FactsOutcomes() []string {
	return []string{factsOK, factsAbsent, factsFailed, factsLies, factsLate, factsFull, factsBackoff}
}

// stats counts. It is safe for concurrent use.
type stats struct {
	mu       sync.Mutex
	polls    map[string]*Polls
	facts    map[string]int64
	changes  int64
	restarts int64
}

func newStats() *stats {
	s := &stats{polls: make(map[string]*Polls), facts: make(map[string]int64)}
	for _, name := range []string{pollModel, pollServer, pollLoads, pollMetrics, pollLog} {
		s.polls[name] = &Polls{Name: name}
	}
	return s
}

func (s *stats) poll(name string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		s.polls[name].OK++
	} else {
		s.polls[name].Failed++
	}
}

func (s *stats) fact(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.facts[what]++
}

func (s *stats) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
}

func (s *stats) restarted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts++
}

// Stats returns what was done so far.
func (g *Tagger) Stats() Stats {
	s := g.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{Facts: maps.Clone(s.facts), Changes: s.changes, Restarts: s.restarts}
	for _, name := range []string{pollModel, pollServer, pollLoads, pollMetrics, pollLog} {
		st.Polls = append(st.Polls, *s.polls[name])
	}
	return st
}
