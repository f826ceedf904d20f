package wire

import "hash/maphash"

// Past is what is remembered of requests, so that what one repeats of another is
// not read again: an agent sends its whole conversation with every turn.
type Past struct {
	Seed   maphash.Seed // keys all hashes of a request
	Memory Memory       // nil: nothing is remembered, and no conversation read
}

// Memory remembers messages over requests, and lists of tools over those of a
// dialect.
type Memory interface {
	// Get returns what was put under a key last, if it is still known.
	Get(key uint64) (Passage, bool)
	Put(key uint64, p Passage)
	// Listed is how many bytes the list of tools takes that text begins with, and
	// whether some are no functions; 0 if that is not known.
	Listed(text []byte) (n int, others bool)
}

// Passage is what a message came to when it was read.
type Passage struct {
	size  int    // of the message
	hash  uint64 // of its bytes
	json  bool   // it is a user's who asks for JSON
	ids   []uint64
	own   uint64 // Message.Own, …
	model bool
	said  bool // … if it is one of the conversation
}

// Held is about how many bytes a passage takes.
func (p *Passage) Held() int { return 128 + 8*len(p.ids) }

// Stop is where an element of the list of messages ends.
type Stop struct {
	End int    // in Request.Messages
	Key uint64 // hash of all up to it; 0 without a memory
}

// front is how much of a message tells which one it may be.
const front = 128

// element reads an element of the list of messages that begins at a byte.
func (d *requestDecoder) element(from int) {
	b := d.s.peek()
	at, sum := d.s.i, uint64(0)
	d.json = false
	switch {
	case b == '{' && d.memory != nil:
		sum = d.passage()
	case b == '{':
		d.message(at)
	case b == '"' || b == '[':
		if raw := d.s.skip(); d.memory != nil {
			sum = d.t.bytes(raw)
		}
	default:
		d.s.skip()
		return
	}
	d.stop(from, at, sum)
}

// stop notes that an element ends here, which begins at a byte and has a hash.
// What parts it from the one before counts, too.
func (d *requestDecoder) stop(from, at int, sum uint64) {
	if d.memory != nil && d.s.fault == 0 {
		d.key = d.t.mix(d.key, d.t.bytes(d.s.b[d.ended:at]), sum)
		d.ended = d.s.i
	}
	d.r.Ends = append(d.r.Ends, Stop{d.s.i - from, d.key})
}

// passage reads a message, or passes over it if it was read before, behind the
// same ones. It returns the hash of its bytes.
func (d *requestDecoder) passage() uint64 {
	s := &d.s
	rest := s.b[s.i:]
	key := d.t.mix(d.key, d.t.bytes(rest[:min(front, len(rest))]))
	p, ok := d.memory.Get(key)
	if !ok || p.size > len(rest) || d.t.bytes(rest[:p.size]) != p.hash {
		return d.anew(key)
	}
	s.i += p.size
	d.json = p.json
	for _, id := range p.ids {
		d.called(id)
	}
	d.say(&p)
	return p.hash
}

// anew reads a message and remembers it under a key.
func (d *requestDecoder) anew(key uint64) uint64 {
	s, at, had := &d.s, d.s.i, len(d.r.CallIDs)
	d.message(at)
	if s.fault != 0 {
		return 0
	}
	p := Passage{size: s.i - at, hash: d.t.bytes(s.b[at:s.i]), json: d.json}
	p.ids = append(p.ids, d.r.CallIDs[had:]...)
	d.t.s.i = at
	m := d.t.message()
	p.own, p.model, p.said = d.t.own(&m), m.role == roleModel, !m.hidden
	d.say(&p)
	if len(d.r.CallIDs) < maxKept {
		d.memory.Put(key, p)
	}
	return p.hash
}

func (d *requestDecoder) say(p *Passage) {
	if p.said {
		d.t.say(p.own, p.model)
	}
}

// hear reads what a member that begins at a byte says of the conversation. The
// messages of a list were heard one by one.
func (d *requestDecoder) hear(key string, at int) {
	if d.memory == nil || d.s.fault != 0 || key == "messages" && d.s.b[at] == '[' {
		return
	}
	d.t.s.i = at
	d.t.member(key)
}

// tools reads the list of tools, or passes over it if it was read before and is
// the first one.
func (d *requestDecoder) tools() {
	s, r := &d.s, d.r
	s.peek()
	at := s.i
	if d.lists == 0 && d.memory != nil {
		n, others := d.memory.Listed(s.b[at:])
		s.i += n
		r.Known, r.Others = n > 0, r.Others || others
	}
	d.more()
	if !r.Known {
		d.list(d.tool)
	}
	if d.lists == 1 {
		r.ToolsAt = Span{at, s.i}
	}
}

// more notes that a list of tools follows. What was passed over of another one
// is read after all.
func (d *requestDecoder) more() {
	d.lists++
	if d.lists == 1 {
		return
	}
	if i := d.s.i; d.r.Known {
		d.s.i, d.r.Known = d.r.ToolsAt.From, false
		d.list(d.tool)
		d.s.i = i
	}
	d.r.ToolsAt = Span{}
}
