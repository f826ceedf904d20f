package validate

import (
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
	c.latest = latest{choice: ch}
	if !w.Role.Empty() {
		if ch.role {
			c.lint(LintRoleRepeated)
		}
		ch.role = true
	}
	c.text(ch, &w.Reasoning, markup.Reasoning)
	c.text(ch, &w.Content, markup.Content)
	c.hear(ch, &w.Content)
	c.refuse(ch, &w.Refusal)
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
func (c *Checker) text(ch *choice, t *wire.Text, where markup.Where) {
	if t.Empty() {
		return
	}
	c.spoke = true
	c.late(ch, nil, t.At)
	raw, how := c.read(ch, t, where)
	c.outlines(ch, raw)
	switch how {
	case same:
		c.find(DeltaReplay, ch.index, nil, c.at(t.At+len(t.Raw)-1))
	case grown:
		c.suspect = true
	}
}

// refuse takes in a piece of a refusal, which is not read.
func (c *Checker) refuse(ch *choice, t *wire.Text) {
	if !t.Empty() {
		c.spoke = true
		c.late(ch, nil, t.At)
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
