// Package stress plays known-answer agent sessions against a server, or against
// two to compare them, many at a time: it judges every answer as the sidecar does,
// holds it against the right one, and counts what came of turns and sessions. It
// shares no code with the relay, so that what measures has no fault in common with
// what is measured.
package stress

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
	"turnwatch/validate/agents"
)

// Load says what to run. Targets, Sessions and Concurrency must be set; the zero
// value of every other field is its default.
type Load struct {
	Targets []Target // one, or two to be compared: the second against the first
	Work

	Sessions    int   // to be counted, at each target and each concurrency
	Concurrency []int // sessions at a time on each target, one stage after the other
	Seed        uint64
	// Waves makes two targets take turns: so many sessions as run at a time on the
	// one, then the same on the other, so that no batch holds sessions of both.
	Waves bool
	// Companions are sessions that run beside the counted ones and are not counted.
	Companions []Companion
	// Skip tells which sessions, by their number, are not played: those that an
	// earlier run has played already. Nil plays all.
	Skip func(n int) bool
	// Prefix begins the ids of sessions, where several loads share a journal.
	Session string

	MaxTime     time.Duration // default: none
	MaxRequests int64         // default: none
	Timeout     time.Duration // of one exchange. Default 5 minutes

	// Turned is told of each turn, Played of each session at its end: that may
	// return why the load is to stop. They are called one at a time.
	Turned func(*Turn)
	Played func(*Session) (stop string)
	// Progress, if set, is told after each counted turn how many are done.
	Progress func(done, total int)
}

// Work says what sessions are like.
type Work struct {
	Name  string     // of the group, in the journal
	Tasks agents.Set // the zero Set is the first of agents.Sets
	agents.Shape
	Streamed    Share // of turns; 0 streams none
	Temperature float64
	Sampling    *int64 // seed of the server's sampling
	MaxTokens   int
	Extra       map[string]json.RawMessage // further fields of each request
	Think       time.Duration              // longest pause before a turn

	Words    int // of a prefix before the conversation
	Prefixes int // how many different prefixes there are; 0: one a session
	// Align pads each session's first request to a multiple of so many tokens,
	// give or take Spread, one after the other; 0 pads nothing.
	Align, Spread int

	Abort Abort
}

// Companion is a group of sessions that runs beside the counted ones.
type Companion struct {
	Work
	Concurrency int
}

// Turn is one turn as the client saw it.
type Turn struct {
	turn.Turn
	Target  int              // index of the server
	Stage   int              // index of the concurrency
	Counted bool             // not of a companion
	Events  int              // with output
	Abort   string           // when we left on purpose: in prefill or decode, or at the stop of the load; "": we did not
	Wrong   error            // the answer is not the known one
	Err     error            // there is no answer, or none that can be read
	Sidecar validate.Outcome // what a sidecar in between said; "": it said nothing
	told    string           // … of the batch
	said    uint64           // hash of the answer
	pair    int              // number of its session
}

// Class is what came of a turn.
type Class int

// The classes. Wrong answers are valid ones that are not the known one: the model
// was wrong, or was corrupted without a trace.
const (
	Right Class = iota
	Wrong
	Corrupted
	Truncated
	Aborted
	Failed // no answer, or one that could not be judged
	Classes
)

// String names the class.
func (c Class) String() string {
	return [...]string{"right", "wrong", "corrupted", "truncated", "aborted", "failed"}[c]
}

// Class tells what came of the turn.
func (t *Turn) Class() Class {
	switch {
	case t.Corrupt():
		return Corrupted
	case t.Abort != "":
		return Aborted
	case t.Outcome == validate.Unverified || t.Err != nil && t.Outcome != validate.Truncated && t.Outcome != validate.Corrupted:
		return Failed
	case t.Outcome == validate.Truncated:
		return Truncated
	case t.Wrong != nil:
		return Wrong
	}
	return Right
}

// Corrupt reports whether the turn counts as corrupted: it has a finding that no
// parser is known to cause.
func (t *Turn) Corrupt() bool {
	if t.Outcome != validate.Corrupted {
		return false
	}
	for i := range t.Findings {
		if corrupts(t.Findings[i].Kind) && t.Findings[i].Cause != validate.CauseParser {
			return true
		}
	}
	return false
}

// corrupts reports whether a kind is of corruption, not of truncation.
func corrupts(k validate.Kind) bool {
	for _, info := range validate.Kinds() {
		if info.Kind == k {
			return info.Outcome == validate.Corrupted
		}
	}
	return false
}

// Session is one session that was played.
type Session struct {
	ID     string
	Number int // among the load's sessions
	Target int
	Stage  int
	Turns  [Classes]int // by class, retries included
	Batch  int          // largest that a server told of its turns; 0: none did
	Whole  bool         // every turn was played
}

// Judged reports whether the session counts: it was played to its end and at
// least one of its answers was judged.
func (s *Session) Judged() bool {
	return s.Whole && s.Turns[Right]+s.Turns[Wrong]+s.Turns[Corrupted]+s.Turns[Truncated] > 0
}

// Corrupt reports whether a turn of it was corrupted.
func (s *Session) Corrupt() bool { return s.Turns[Corrupted] > 0 }

// errStopped is why turns have no answer that were cut at the end of the load.
var errStopped = errors.New("the run was stopped")

func (l *Load) defaults() error {
	if l.Timeout == 0 {
		l.Timeout = 5 * time.Minute
	}
	l.Work.defaults()
	for i := range l.Companions {
		l.Companions[i].defaults()
	}
	switch {
	case len(l.Targets) < 1 || len(l.Targets) > 2:
		return fmt.Errorf("%d targets: there must be one or two", len(l.Targets))
	case l.Sessions < 1:
		return errors.New("-sessions must be at least 1")
	case len(l.Concurrency) == 0:
		return errors.New("-concurrency must be at least 1")
	}
	for _, c := range l.Concurrency {
		if c < 1 {
			return errors.New("-concurrency must be at least 1")
		}
	}
	err := l.Work.check()
	for i := range l.Companions {
		err = errors.Join(err, l.Companions[i].check())
	}
	return err
}

// check returns what sessions cannot be like.
func (w *Work) check() error {
	a := &w.Abort
	switch {
	case w.Turns != 0 && w.Turns < 2:
		return errors.New("-turns must be at least 2: a call, and a text at the end")
	case w.Words < 0 || w.Prefixes < 0 || w.Long < 0 || w.Align < 0 || w.Spread < 0 || w.MaxTokens < 0:
		return errors.New("-prefix, -prefixes, -long, -align, -align-spread and -max-tokens must not be negative")
	case a.Retries < 0 || a.Tokens < 0:
		return errors.New("-abort-retries and -abort-tokens must not be negative")
	case a.Prefill && a.Tokens > 0:
		return errors.New("-abort-prefill and -abort-tokens exclude each other: in prefill no token has come")
	}
	return nil
}

func (w *Work) defaults() {
	if w.Tasks.New == nil {
		w.Tasks = agents.Sets()[0]
	}
}
