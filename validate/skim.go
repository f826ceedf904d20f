package validate

import (
	"unicode/utf8"

	"turnwatch/validate/markup"
	"turnwatch/validate/wire"
)

// latest is whom the latest event spoke of, if it spoke of one: an event that is
// like it but for its text speaks of the same.
type latest struct {
	choice *choice
	call   *call
}

// skim judges the event at the front of p, and says how many bytes it takes, if
// all of it is there and it looks like the latest one: most events do.
func (c *Checker) skim(p []byte) int {
	const before, behind = "data: ", "\n\n"
	if c.foul || len(p) < len(before) || string(p[:len(before)]) != before || !c.sse.Idle() {
		return 0
	}
	w, t, n := c.dec.Skim(p[len(before):])
	end := len(before) + n
	if n == 0 || len(p) < end+len(behind) || string(p[end:end+len(behind)]) != behind {
		return 0
	}
	last := c.fed - int64(len(p)-end)
	c.sse.Pass(len(before), end+len(behind))
	if !utf8.Valid(t.Raw) { // what is around it was looked at
		c.checkUTF8(p[len(before):end])
	}
	c.goOn(w, t)
	c.place.note(last+1, true, c.counted(w), c.worth)
	return end + len(behind)
}

// goOn takes in an event that differs from the latest one in a text alone, as
// apply and choice would: whatever else it says was taken in with that.
func (c *Checker) goOn(w *wire.Event, t *wire.Text) {
	ch, one := c.latest.choice, &w.Choices[0]
	switch t {
	case &one.Reasoning:
		c.text(ch, t, markup.Reasoning)
	case &one.Content:
		c.text(ch, t, markup.Content)
		c.hear(ch, t)
	case &one.Refusal:
		c.refuse(ch, t)
	default:
		k := &c.dec.Calls(one)[0]
		c.worth = true
		if ch.finished {
			c.late(ch, c.latest.call.place(), k.At)
		}
		c.arguments(c.latest.call, k)
	}
}
