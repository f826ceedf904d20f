package validate

import (
	"math/bits"

	"turnwatch/validate/echo"
	"turnwatch/validate/markup"
	"turnwatch/validate/wire"
)

// choice is the state of one choice of the answer.
type choice struct {
	index    int
	calls    []*call // in order of appearance
	finish   string
	ended    int64 // where the finish reason stands
	finished bool
	another  bool // a finish reason that is not the first one came later
	role     bool
	content  replay
	thought  replay
	texts    [2]*reader     // of content and reasoning, by markup.Where; nil while there is none
	echo     echo.Reader    // of the content, while the request is held against it
	said     *wire.TextHash // of the content
	heard    bool           // there is some, and somebody asks for its hash
}

// choice takes in what an event says of a choice.
func (c *Checker) choice(w *wire.Choice) {
	ch := c.pick(w.Index)
	if ch == nil {
		c.stop(ReasonTooLarge)
		return
	}
	if !w.Role.Empty() {
		if ch.role {
			c.lint(LintRoleRepeated)
		}
		ch.role = true
	}
	c.text(ch, w.Reasoning, &ch.thought, markup.Reasoning)
	c.text(ch, w.Content, &ch.content, markup.Content)
	c.hear(ch, w.Content)
	c.text(ch, w.Refusal, nil, 0)
	c.spoke = c.spoke || w.Parts
	c.unread = c.unread || w.Parts || !w.Refusal.Empty()
	if w.Legacy {
		c.lint(LintLegacy)
	}
	calls := c.dec.Calls(w)
	for i := range calls {
		if c.call(ch, &calls[i], calls[:i], w.Legacy); c.reason != "" {
			return
		}
	}
	c.finish(ch, w)
}

// pick finds or makes the state of a choice, nil if there are too many.
func (c *Checker) pick(index int) *choice {
	for _, ch := range c.choices {
		if ch.index == index {
			return ch
		}
	}
	if len(c.choices) >= maxChoices {
		return nil
	}
	ch := another(&c.spare.choice)
	ch.index = index
	c.choices = append(c.choices, ch)
	return ch
}

// text takes in a piece of visible text.
func (c *Checker) text(ch *choice, t wire.Text, so *replay, where markup.Where) {
	if t.Empty() {
		return
	}
	c.spoke = true
	c.late(ch, nil, t.At)
	if so == nil {
		return
	}
	raw := c.read(ch, t, where)
	c.outlines(ch, raw)
	if c.form == whole {
		return
	}
	switch so.add(raw) {
	case same:
		c.find(DeltaReplay, ch.index, nil, c.at(t.At+len(t.Raw)-1))
	case grown:
		c.suspect = true
	}
}

// late notes output of a choice that was finished before.
func (c *Checker) late(ch *choice, call *int, at int) {
	if !ch.finished {
		return
	}
	for i := range c.findings {
		if f := &c.findings[i]; f.Kind == PostFinishDelta && f.Choice == ch.index {
			return
		}
	}
	c.find(PostFinishDelta, ch.index, call, c.at(at))
}

// finish takes in the finish reason.
func (c *Checker) finish(ch *choice, w *wire.Choice) {
	if w.Finish.Empty() {
		return
	}
	c.worth = true
	if ch.finished {
		c.lint(LintDuplicateFinish)
		ch.another = ch.another || !w.Finish.Is(ch.finish)
		return
	}
	ch.finished, ch.finish, ch.ended = true, spellFinish(w.Finish), c.at(w.Finish.At)
}

// replay notices a piece of text that repeats all the text before it.
type replay struct {
	hash  uint64 // FNV-1a of the text so far
	bytes int
	runes int
	parts int       // pieces it came in
	last  byte      // its last one
	seen  [4]uint64 // which bytes occurred
}

// again says how a piece relates to the text before it.
type again uint8

const (
	other again = iota
	same        // the piece is that text
	grown       // the piece begins with it, or is a line or phrase that may be said twice
)

// A text must be this long, and of this many different bytes, to be compared:
// shorter ones and rulers repeat themselves.
const (
	minReplay    = 16
	minDifferent = 10
	manyParts    = 3 // of so many a piece of its own is seldom made up
)

// add appends a piece and says whether it repeats the text before it.
func (r *replay) add(p []byte) again {
	const offset, prime = 14695981039346656037, 1099511628211
	if r.bytes == 0 {
		r.hash = offset
	}
	how := other
	if r.runes >= minReplay && len(p) >= r.bytes && r.different() >= minDifferent {
		alone := uint64(offset)
		for _, b := range p[:r.bytes] {
			alone = (alone ^ uint64(b)) * prime
		}
		switch {
		case alone != r.hash:
		case len(p) == r.bytes && (r.parts >= manyParts || inWord[r.last]*inWord[p[0]] > 0):
			how = same
		default:
			how = grown
		}
	}
	for _, b := range p {
		r.hash = (r.hash ^ uint64(b)) * prime
		r.seen[b>>6] |= 1 << (b & 63)
		if b&0xC0 != 0x80 {
			r.runes++
		}
	}
	r.bytes += len(p)
	if len(p) > 0 {
		r.parts, r.last = r.parts+1, p[len(p)-1]
	}
	return how
}

func (r *replay) different() (n int) {
	for _, w := range r.seen {
		n += bits.OnesCount64(w)
	}
	return n
}
