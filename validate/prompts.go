package validate

import (
	"hash/maphash"

	"turnwatch/validate/wire"
)

// prompts remembers what the texts of requests hold, so that only what is new
// in a request is read: an agent sends its whole conversation again with every
// turn. A reading is known by the hash of what was read: all but the messages,
// and the messages up to one.
type prompts struct {
	seed maphash.Seed
	memory[*prompt]
}

func newPrompts(maxBytes int) prompts {
	return prompts{maphash.MakeSeed(), newMemory[*prompt](maxBytes)}
}

// stop is a place in a request up to which it may have been read before.
type stop struct {
	end int    // in the messages
	key uint64 // hash of all before
}

// prompt reads the texts of a request, as far as they are new. It keeps
// nothing of body, of which the messages of w are a part.
func (s *Schemas) prompt(body []byte, w *wire.Request) *prompt {
	front := cap(body) - cap(w.Messages)
	if w.Messages == nil {
		front = len(body)
	}
	rest := [2][]byte{body[:front], body[min(len(body), front+len(w.Messages)):]}
	if s == nil {
		p := newPrompt()
		p.around(rest)
		p.read(w.Messages, true)
		return p
	}
	return s.prompts.read(rest, w.Messages, w.Ends)
}

// read reads a request, given as its messages, where each of them ends, and
// what stands around them. The prompt is shared.
func (c *prompts) read(rest [2][]byte, messages []byte, ends []wire.Stop) *prompt {
	var room [32]stop
	stops := c.stops(room[:0], rest, messages, ends)
	p, n := c.latest(stops)
	if n == len(stops) {
		return p
	}
	if p == nil {
		p = newPrompt()
		p.around(rest)
	} else {
		p = p.grow()
	}
	// The first message is what conversations share.
	if n <= 1 && len(stops) > 2 {
		p.read(messages[begin(stops, n):stops[1].end], true)
		c.keep(stops[1].key, p)
		p, n = p.grow(), 2
	}
	p.read(messages[begin(stops, n):], true)
	c.keep(stops[len(stops)-1].key, p)
	return p
}

// begin is where in the messages the first of those begins that n stops do
// not reach.
func begin(stops []stop, n int) int {
	if n == 0 {
		return 0
	}
	return stops[n-1].end
}

// around reads what stands around the messages.
func (p *prompt) around(rest [2][]byte) {
	p.read(rest[0], false)
	p.read(rest[1], false)
}

// stops appends the places at which a request may go on from an earlier one:
// in front of its messages, and behind each.
func (c *prompts) stops(to []stop, rest [2][]byte, messages []byte, ends []wire.Stop) []stop {
	key := c.mix(maphash.Bytes(c.seed, rest[0]), maphash.Bytes(c.seed, rest[1]))
	to = append(to, stop{0, key})
	if len(messages) > 0 && messages[0] != '[' { // no list
		return append(to, stop{len(messages), c.mix(key, maphash.Bytes(c.seed, messages))})
	}
	for _, e := range ends {
		to = append(to, stop{e.End, c.mix(key, e.Key)})
	}
	return to
}

// mix hashes two hashes in their order.
func (c *prompts) mix(a, b uint64) uint64 { return maphash.Comparable(c.seed, [2]uint64{a, b}) }

// latest is what was read up to the last of the stops that is known, and the
// number of stops up to it; 0 if none is known.
func (c *prompts) latest(stops []stop) (p *prompt, n int) {
	for n = len(stops); n > 0; n-- {
		if p, ok := c.get(stops[n-1].key); ok {
			return p, n
		}
	}
	return nil, 0
}

// keep remembers a reading.
func (c *prompts) keep(key uint64, p *prompt) { c.put(key, p, p.held()) }
