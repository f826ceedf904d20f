package proxy

import (
	"fmt"
	"slices"

	"turnwatch/proxy/turn"
)

// claim is one session's turn at a place.
type claim struct {
	root   *root
	id     string // of the session
	turn   int
	client uint64
	failed bool     // it got no whole answer: the client will ask again
	said   []uint64 // what it was answered, if that is known
	went   bool     // the session went on from here
	from   uint64   // the place of the turn before, 0 if there was none
	fromID string   // the session of that turn: another one where this is a branch

	one [1]uint64 // room for said: most answers are one message
	own root      // room for root: of a session's first turn
}

// root is what a session and its branches share.
type root struct {
	id       string
	branches int
}

// The claims of one place, and the answers of one claim, that are kept.
const (
	maxClaims = 64
	maxSaid   = 8
)

// follow finds the turn before, or the same one tried before.
func (s *sessions) follow(v *visit) *claim {
	turns := v.talk.Turns
	here := s.visit(turns[len(turns)-1].Link, v.now)
	before, at := s.before(v)
	if c := here.tried(v, before == nil); c != nil {
		return s.retry(c, v)
	}
	if before == nil {
		if v.talk.Answers > 0 && len(here.claims) > 0 {
			return s.retry(here.best(v, 0), v)
		}
		id := turn.NewIDAt(v.now)
		c := &claim{id: id, turn: 1 + v.talk.Answers, own: root{id: id}}
		c.root = &c.own
		return s.claim(here, v.note(c))
	}
	s.visit(before.key, v.now)
	own := turns[at+1].Own
	open := before.open(v, own)
	if len(here.claims) > 0 && !here.shared(v, open, own) {
		return s.retry(here.best(v, 0), v)
	}
	next := &claim{from: before.key, turn: v.talk.Answers}
	if at >= 0 {
		next.turn -= turns[at].Answers
	}
	next.turn = max(1, next.turn)
	if open != nil {
		open.went = open.went || !v.failed
		next.goOn(open, open.id)
	} else {
		from := before.best(v, own)
		from.root.branches++
		next.goOn(from, fmt.Sprintf("%s.%d", from.root.id, from.root.branches))
	}
	return s.claim(here, v.note(next))
}

// before finds the place of the turn before, and which message it ended with:
// -1 where the request does not repeat it.
func (s *sessions) before(v *visit) (*place, int) {
	turns := v.talk.Turns
	if p := s.places[v.talk.After]; p != nil && v.talk.After != 0 && len(p.claims) > 0 {
		return p, -1
	}
	for i := len(turns) - 2; i >= 0; i-- {
		if p := s.places[turns[i].Link]; p != nil && len(p.claims) > 0 {
			return p, i
		}
	}
	return nil, -1
}

// goOn makes c, which counts from its place, the turn after b.
func (c *claim) goOn(b *claim, id string) {
	c.root, c.id, c.fromID = b.root, id, b.id
	c.turn += b.turn
}

// shared reports whether a turn at a place that has claims comes from another
// session, which said and heard the same so far: one is open, may have heard
// it, and is no less the client's than the claims are.
func (p *place) shared(v *visit, open *claim, own uint64) bool {
	if open == nil || len(open.said) > 0 && !slices.Contains(open.said, own) {
		return false
	}
	return open.client == v.client || !slices.ContainsFunc(p.claims, func(c *claim) bool { return c.client == v.client })
}

// note notes in c what the visit tells.
func (v *visit) note(c *claim) *claim {
	c.client, c.failed = v.client, v.failed
	if c.said == nil {
		c.said = c.one[:0]
	}
	for _, h := range v.said {
		if len(c.said) < maxSaid && !slices.Contains(c.said, h) {
			c.said = append(c.said, h)
		}
	}
	return c
}

// retry notes another try of a turn. Once one is answered, the session has
// gone on from the turn before.
func (s *sessions) retry(c *claim, v *visit) *claim {
	failed := c.failed && v.failed
	v.note(c).failed = failed
	if p := s.places[c.from]; p != nil && !failed {
		for _, b := range p.claims {
			b.went = b.went || b.id == c.fromID
		}
	}
	return c
}

// tried returns the claim of which the turn is another try, for certain or
// nearly so. Where nothing was answered yet, only a client's own is one:
// conversations may begin alike.
func (p *place) tried(v *visit, first bool) (likely *claim) {
	if !p.failed && !v.again {
		return nil // as a rule: none of the claims need be fetched
	}
	for _, c := range slices.Backward(p.claims) {
		if (c.failed || v.again) && c.client == v.client {
			return c
		}
		if c.failed && !first && likely == nil {
			likely = c
		}
	}
	return likely
}

// open returns the claim that the turn most likely goes on from, unless
// something went on from it before.
func (p *place) open(v *visit, own uint64) *claim {
	most := p.best(v, own).score(v, own)
	for _, c := range p.claims {
		if !c.went && c.score(v, own) == most {
			return c
		}
	}
	return nil
}

// best returns the claim for which most speaks.
func (p *place) best(v *visit, own uint64) (best *claim) {
	for _, c := range p.claims {
		if best == nil || c.score(v, own) > best.score(v, own) {
			best = c
		}
	}
	return best
}

// score weighs what speaks for a claim: the request repeats its answer, the
// client is the same, there was an answer.
func (c *claim) score(v *visit, own uint64) (n int) {
	if slices.Contains(c.said, own) {
		n += 4
	}
	if c.client == v.client {
		n += 2
	}
	if !c.failed {
		n++
	}
	return n
}
