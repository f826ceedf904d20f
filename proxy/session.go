package proxy

import (
	"cmp"
	"container/list"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"turnwatch/validate"
)

// SessionConfig says how turns are put together into sessions. The zero value
// of every field is its default.
type SessionConfig struct {
	// Headers name a session, first of them first. Default: SessionHeaders.
	Headers []string
	// Turns bounds the turns that are remembered, the latest ones. A turn that
	// goes on from none of them begins a session. Default 32768.
	Turns int
	// Idle is how long a turn is remembered that nothing goes on from.
	// Default 15 minutes.
	Idle time.Duration
}

// SessionHeaders returns the fields in which clients and gateways name a
// session, in small letters. None of them is of a request or of a user alone.
func SessionHeaders() []string {
	return []string{"x-session-id", "x-session-affinity", "x-conversation-id", "x-claude-code-session-id", "x-litellm-session-id",
		"session-id", "session_id", "conversation_id", "x-amp-thread-id", "helicone-session-id", "x-smg-routing-key"}
}

// sessions knows where conversations have been, by hashes alone, and so which
// one a turn goes on with. Each turn is a place: its request's messages. The
// next request repeats them, the answer, and what is new; the longest beginning
// of it that is a place is the turn before.
type sessions struct {
	SessionConfig
	seed maphash.Seed

	mu     sync.Mutex
	places map[uint64]*place
	latest list.List // of *place, the one visited last at the front
	claims int       // over all places
}

// place is a request that one or more sessions have made.
type place struct {
	key    uint64
	claims []*claim
	at     *list.Element
	seen   time.Time
	failed bool // one of the claims may have

	one [1]*claim // room for claims: most places have one
}

func newSessions(cfg SessionConfig) *sessions {
	cfg.Turns = cmp.Or(cfg.Turns, 32768)
	cfg.Idle = cmp.Or(cfg.Idle, 15*time.Minute)
	if cfg.Headers == nil {
		cfg.Headers = SessionHeaders()
	}
	return &sessions{SessionConfig: cfg, seed: maphash.MakeSeed(), places: make(map[uint64]*place)}
}

// visit is a turn that has ended and asks where it belongs.
type visit struct {
	name   string // of the session; empty if nobody named it
	talk   *validate.Conversation
	client uint64
	again  bool // the client says that it asks again
	failed bool
	said   []uint64
	answer uint64 // the hash of the answer's id, where a request may name it; else 0
	now    time.Time
}

// find returns the session that the turn belongs to and its place in it.
func (s *sessions) find(v *visit) (id string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.forget(v.now)
	switch {
	case v.name != "":
		return v.name, s.named(v)
	case v.talk == nil || len(v.talk.Turns) == 0:
		return "", 0
	}
	c := s.follow(v)
	if v.answer != 0 {
		if p := s.visit(v.answer, v.now); len(p.claims) == 0 {
			s.claim(p, c)
		}
	}
	return c.id, c.turn
}

// named counts the turns of a session that has a name. A request that it has
// made before is a retry.
func (s *sessions) named(v *visit) int {
	scope := maphash.String(s.seed, v.name)
	count := s.visit(scope, v.now)
	if len(count.claims) == 0 {
		before := 0
		if v.talk != nil {
			before = v.talk.Answers
		}
		s.claim(count, &claim{turn: before})
	}
	last := count.claims[0]
	if v.talk == nil || len(v.talk.Turns) == 0 {
		last.turn++
		return last.turn
	}
	end := v.talk.Turns[len(v.talk.Turns)-1].Link
	here := s.visit(maphash.Comparable(s.seed, [2]uint64{scope, end}), v.now)
	if len(here.claims) == 0 {
		last.turn++
		s.claim(here, &claim{turn: last.turn})
	}
	return here.claims[0].turn
}

// visit returns the place with the key, which is made if need be.
func (s *sessions) visit(key uint64, now time.Time) *place {
	p := s.places[key]
	if p == nil {
		p = &place{key: key}
		p.claims = p.one[:0]
		p.at = s.latest.PushFront(p)
		s.places[key] = p
	}
	p.seen = now
	s.latest.MoveToFront(p.at)
	return p
}

// claim adds a claim to a place, whose first one gives way if there are many.
func (s *sessions) claim(p *place, c *claim) *claim {
	if len(p.claims) == maxClaims {
		p.claims = slices.Delete(p.claims, 0, 1)
		s.claims--
	}
	p.claims = append(p.claims, c)
	p.failed = p.failed || c.failed
	s.claims++
	return c
}

// forget lets go what is old, and what is too much.
func (s *sessions) forget(now time.Time) {
	for e := s.latest.Back(); e != nil; e = s.latest.Back() {
		p := e.Value.(*place)
		if s.claims <= s.Turns && now.Sub(p.seen) <= s.Idle {
			return
		}
		s.latest.Remove(e)
		s.claims -= len(p.claims)
		delete(s.places, p.key)
	}
}
