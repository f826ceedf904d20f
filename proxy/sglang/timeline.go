package sglang

import (
	"sync"
	"sync/atomic"
	"time"
)

// timelineLen is how many samples of a load are remembered: at one a second,
// for more than an hour.
const timelineLen = 4096

// fresh is how old a sample may be to stand for a moment after it. An older one
// says nothing any more.
const fresh = 3 * time.Second

// load is how many requests ran and waited on one data-parallel rank.
type load struct{ rank, running, waiting int }

// sample is what one poll told.
type sample struct {
	at    time.Time
	loads []load
}

// of returns the load of a rank; of the busiest if the rank is not known.
func (s *sample) of(rank int) (most load) {
	for _, l := range s.loads {
		if l.rank == rank {
			return l
		}
		if l.running >= most.running {
			most = l
		}
	}
	return most
}

// timeline holds the latest samples in the order of their time.
type timeline struct {
	latest atomic.Pointer[sample] // which is all that most turns ask for; nil: none

	mu   sync.Mutex
	ring []*sample
	next int // the oldest, once the ring is full
}

func (l *timeline) add(s sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest.Store(&s)
	if len(l.ring) < timelineLen {
		l.ring = append(l.ring, &s)
		return
	}
	l.ring[l.next] = &s
	l.next = (l.next + 1) % timelineLen
}

// back yields the samples, the latest first.
func (l *timeline) back(yield func(*sample) bool) {
	if s := l.latest.Load(); s != nil && yield(s) {
		l.before(s, yield)
	}
}

// before yields those before one, unless so many came since that it is forgotten.
func (l *timeline) before(s *sample, yield func(*sample) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, found := len(l.ring), false
	for i := range n {
		next := l.ring[(l.next+n-1-i)%n]
		if found && !yield(next) {
			return
		}
		found = found || next == s
	}
}

// at returns the load that a moment was nearest after, and how old it was then.
func (l *timeline) at(t time.Time, rank int) (found load, age time.Duration, ok bool) {
	for s := range l.back {
		if s.at.After(t) {
			continue
		}
		age = t.Sub(s.at)
		return s.of(rank), age, age <= fresh
	}
	return load{}, 0, false
}

// most returns the largest load between two moments. Without a sample there it
// is the one at the first of them.
func (l *timeline) most(from, to time.Time, rank int) (found load, age time.Duration, ok bool) {
	for s := range l.back {
		if s.at.After(to) {
			continue
		}
		if s.at.Before(from) {
			break
		}
		if got := s.of(rank); !ok || got.running > found.running {
			found, ok = got, true
		}
	}
	if ok {
		return found, 0, true
	}
	return l.at(from, rank)
}
