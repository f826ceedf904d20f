package sglang

import (
	"sync"
	"time"
)

// heads remembers the configuration that the latest head told, because errors
// carry none: not of a server behind the plugin, nor of a relay without a
// server.
type heads struct {
	mu    sync.Mutex
	told  []field
	at    time.Time // when the answer with that head began
	since time.Time // heads of earlier answers are of another start of the server
}

// remember takes what a head told, unless a later one is known.
func (l *heads) remember(told []field, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(told) > 0 && !began.Before(l.at) && !began.Before(l.since) {
		l.told, l.at = told, began
	}
}

// forget is for a server that was started anew.
func (l *heads) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told, l.since = nil, time.Now()
}

// latest returns what is remembered, and when it was told.
func (l *heads) latest() ([]field, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.told, l.at
}

// origin says what the configuration of a turn was made of besides polls and
// labels, for what a head tells is not comparable with its absence.
type origin int

const (
	ofHead      origin = iota // its own head, or the latest one where its answer is none of success
	ofNoHead                  // a success of a server that tells nothing in heads
	ofElse                    // a success without a head, of a server that tells something in others
	ofNoAnswer                // no success, and no head is known
	ofTooLittle               // what the server says of itself is still to come
)

// recall finds the configuration that the turn's head told. Where an answer
// of no success, or none, told nothing, it is what the latest head told.
func (x *filling) recall(of *basis) origin {
	success := x.t.Status/100 == 2
	told, at := x.g.heads.latest()
	switch {
	case len(x.h.config) > 0:
		of.head = x.h.config
		return ofHead
	case success && len(told) == 0:
		return ofNoHead
	case success:
		return ofElse
	case len(told) == 0:
		return ofNoAnswer
	}
	of.head, of.told = told, at
	return ofHead
}

// comparable reports whether a configuration of that origin may be held
// against the latest one, or take its place. mu is held.
func (g *Tagger) comparable(from origin) bool {
	switch from {
	case ofElse, ofTooLittle:
		return false
	case ofNoAnswer:
		return g.latest != nil && g.from != ofHead
	}
	return true
}
