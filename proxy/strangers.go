package proxy

import (
	"container/list"
	"maps"
	"sync"
	"time"

	"turnwatch/validate"
)

// strangers looks in answers for words of other conversations: identifiers
// that the answer's own request does not hold and another one's does. Text can
// cross over only between requests that the server works on at the same time;
// conversations that were over before are decoys, which tell how many hits
// chance makes. It keeps hashes of words alone.
type strangers struct {
	mu    sync.Mutex
	words map[uint64]*talker // nil: more than one conversation holds the word
	talks map[uint64]*talker
	rest  rest // those of which no request is being answered

	open         int     // requests that are being answered
	live, decoys tallied // over all turns
}

// tallied counts conversations that a turn was held against, and how many of
// them it hit.
type tallied struct{ held, hit int64 }

// talker is a conversation.
type talker struct {
	key   uint64
	open  int       // requests that are being answered
	last  time.Time // when it was heard
	words []uint64
	at    *list.Element // its place while it rests
	nth   int           // its number there
}

// Bounds of strangers: words, conversations and how long one that is over is
// remembered, how many of its words an answer must hold, and the share of false
// alarms up to which there is a signal.
const (
	maxStrange  = 128 << 10
	maxTalks    = 8 << 10
	decoyFor    = 10 * time.Minute
	minWords    = 2
	falseAlarms = 0.05
)

func newStrangers() *strangers {
	return &strangers{words: map[uint64]*talker{}, talks: map[uint64]*talker{}}
}

// join notes a request of a conversation, which leave ends.
func (s *strangers) join(key uint64, req *validate.Request, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.talks[key]
	if t == nil {
		t = &talker{key: key}
		s.talks[key] = t
	}
	s.rest.leave(t)
	t.open++
	s.open++
	t.last = now
	for w := range req.Words {
		if had, ok := s.words[w]; !ok && len(s.words) < maxStrange {
			s.words[w] = t
			t.words = append(t.words, w)
		} else if ok && had != t {
			s.words[w] = nil
		}
	}
	s.forget(now)
}

// forget drops conversations that are over for long, and while there is too
// much of them the one that was heard least lately.
func (s *strangers) forget(now time.Time) {
	for t := s.rest.longest(); t != nil; t = s.rest.longest() {
		if now.Sub(t.last) < decoyFor && len(s.words) < maxStrange && len(s.talks) <= maxTalks {
			return
		}
		for _, w := range t.words {
			delete(s.words, w)
		}
		delete(s.talks, t.key)
		s.rest.leave(t)
	}
}

// leave ends a request of a conversation that began at a time, and tells of
// the words in its answer that are another one's.
func (s *strangers) leave(key uint64, began, now time.Time, found []validate.Stranger) []validate.Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.talks[key]
	if own == nil {
		return nil
	}
	own.open--
	s.open--
	own.last = now
	s.count(began)
	if own.open == 0 {
		s.rest.join(own)
	}
	var told []validate.Signal
	for t, words := range s.hits(own, found) {
		if t.overlaps(began) {
			s.live.hit++
			w := words[0]
			told = append(told, validate.Signal{Kind: validate.ForeignContent, Choice: w.Choice, Call: w.Call, Offset: w.Offset})
		} else {
			s.decoys.hit++
		}
	}
	if s.rate() > falseAlarms {
		return nil
	}
	return told
}

// hits are the conversations that enough of the words belong to.
func (s *strangers) hits(own *talker, found []validate.Stranger) map[*talker][]validate.Stranger {
	if len(found) == 0 {
		return nil
	}
	hits := map[*talker][]validate.Stranger{}
	for _, f := range found {
		if t := s.words[f.Hash]; t != nil && t != own {
			hits[t] = append(hits[t], f)
		}
	}
	maps.DeleteFunc(hits, func(_ *talker, words []validate.Stranger) bool { return distinct(words) < minWords })
	return hits
}

// overlaps reports whether a conversation had a request open after a time.
func (t *talker) overlaps(began time.Time) bool { return t.open > 0 || !t.last.Before(began) }

// count counts the conversations that a turn is held against: those that are being
// answered or were heard since it began, and the rest. Its own is none of them.
func (s *strangers) count(began time.Time) {
	live := s.open + s.rest.since(began)
	s.live.held += int64(live)
	s.decoys.held += int64(max(len(s.talks)-1-live, 0))
}

// rate is the share of the hits that chance makes, told from above by the
// decoys: 1 while there are none.
func (s *strangers) rate() float64 {
	if s.decoys.held == 0 || s.live.hit == 0 {
		return 1
	}
	byChance := float64(s.decoys.hit+1) / float64(s.decoys.held) * float64(s.live.held)
	return min(1, byChance/float64(s.live.hit))
}

func distinct(words []validate.Stranger) int {
	seen := map[uint64]bool{}
	for _, w := range words {
		seen[w.Hash] = true
	}
	return len(seen)
}

// joined lets the turn's conversation be known while it is answered.
func (o *observer) joined() {
	if o.talk == nil || len(o.talk.Turns) == 0 {
		return
	}
	o.speaker = o.talk.Turns[0].Link
	for _, m := range o.talk.Turns {
		if m.Answers > 0 {
			break
		}
		o.speaker = m.Link
	}
	o.s.strange.join(o.speaker, o.req, o.t.Time)
}

// left ends that, and adds what was found to the signals of the turn.
func (o *observer) left() {
	if o.speaker == 0 {
		return
	}
	told := o.s.strange.leave(o.speaker, o.t.Time, o.now(), o.t.Strangers)
	o.speaker = 0
	if len(told) > 0 && o.t.Outcome != validate.Unverified {
		o.t.Signals, o.t.Suspect = append(o.t.Signals, told...), true
	}
}

// learn takes from a judged turn what later ones are judged by.
func (o *observer) learn() {
	o.left()
	if o.req != nil {
		o.s.rates.Learn(o.req.Model, &o.t.Verdict)
	}
}
