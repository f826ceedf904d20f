package validate

import "hash/maphash"

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
// nothing of body, of which messages is a part.
func (s *Schemas) prompt(body, messages []byte) *prompt {
	front := cap(body) - cap(messages)
	if messages == nil {
		front = len(body)
	}
	rest := [2][]byte{body[:front], body[min(len(body), front+len(messages)):]}
	var known *prompts
	if s != nil {
		known = &s.prompts
	}
	return known.read(rest, messages)
}

// read reads a request, given as its messages and what stands around them.
func (c *prompts) read(rest [2][]byte, messages []byte) *prompt {
	if c == nil {
		p := newPrompt()
		p.around(rest)
		p.read(messages, true)
		return p
	}
	var room [32]stop
	stops := c.stops(room[:0], rest, messages)
	p, n := c.latest(stops)
	if n == len(stops) {
		last := *p
		return &last
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
	last := *p
	return &last
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
func (c *prompts) stops(to []stop, rest [2][]byte, messages []byte) []stop {
	var h maphash.Hash
	h.SetSeed(c.seed)
	h.Write(rest[0])
	h.WriteByte(0) // not part of JSON: what stands around is told from the messages
	h.Write(rest[1])
	h.WriteByte(0)
	to = append(to, stop{0, h.Sum64()})
	for i := 0; ; {
		n := item(messages[i:], i == 0)
		if n == 0 {
			return to
		}
		h.Write(messages[i : i+n])
		i += n
		to = append(to, stop{i, h.Sum64()})
	}
}

// item is how far the next text or container in a list reaches, 0 if there is
// none. The first one begins with the list, and is all of what is no list.
func item(list []byte, first bool) int {
	depth := 1
	if first {
		if depth = 0; len(list) > 0 && list[0] != '[' {
			return len(list)
		}
	}
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '"':
			n, _ := stringLen(list[i+1:])
			i += n + 1
		case '[', '{':
			depth++
			continue
		case ']', '}':
			depth--
		default:
			continue
		}
		if depth == 1 {
			return min(i+1, len(list))
		}
	}
	return 0
}

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
