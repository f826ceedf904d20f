package wire

import (
	"bytes"
	"hash/maphash"
)

// native reads the answers of /generate. A server sends, with each event of a
// stream, either all the text so far or what is new of it, by its
// configuration; the events do not say which.
type native struct {
	bare  bare
	items []generated
	texts []growth
	seed  maphash.Seed
}

// generated is what an event says of one answer.
type generated struct {
	at         int
	index      int // -1 if there is none
	some       bool
	odd        bool // its text is none, or there are tokens without one
	text       Text
	finish     Text
	counted    bool
	prompt     int64
	completion int64
}

// growth is what is known of the text of one answer.
type growth struct {
	index      int
	n          int    // bytes so far, still escaped
	sum        uint64 // their hash
	mode       mode
	completion int64
}

// mode says what a text in an event is.
type mode uint8

const (
	unsure mode = iota
	all         // the text so far
	more        // what is new of it
)

// sureText is from which length on a text that begins with the text before it
// is all the text so far: a shorter one may repeat itself.
const sureText = 16

func newNative() *native { return &native{seed: maphash.MakeSeed()} }

func (n *native) read(d *Decoder) {
	n.items, n.bare = reuse(n.items), bare{}
	if d.s.peek() == '[' {
		n.list(d)
		return
	}
	if d.s.peek() != '{' {
		d.strange(true)
	}
	n.item(d)
}

func (n *native) list(d *Decoder) {
	s := &d.s
	if !s.open('[') {
		return
	}
	for first := true; s.next(']', &first); {
		n.item(d)
	}
}

func (n *native) item(d *Decoder) {
	s := &d.s
	s.peek()
	g, tokens := generated{at: s.i, index: -1}, false
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch key := string(s.key()); key {
		case "text":
			g.text, g.odd = s.text()
			g.some = true
		case "output_ids":
			tokens, g.some = len(s.skip()) > len("[]"), true
		case "meta_info":
			g.some = true
			g.meta(s)
		case "index":
			if i, ok := s.integer(); ok && i >= 0 {
				g.index = int(i)
			}
		case "predictions":
			n.list(d)
		case "error":
			d.failure()
		default:
			n.bare.read(s, key)
		}
	}
	g.odd = g.odd || tokens && !g.text.Set
	if g.some && d.room(len(n.items)) {
		n.items = append(n.items, g)
	}
}

func (g *generated) meta(s *scanner) {
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "finish_reason":
			g.finished(s)
		case "prompt_tokens":
			g.prompt, _ = s.integer()
		case "completion_tokens":
			g.completion, g.counted = s.integer()
		default:
			s.skip()
		}
	}
}

// finished reads a finish reason: an object with a type, or the bare word.
func (g *generated) finished(s *scanner) {
	if s.peek() != '{' {
		g.finish, _ = s.text()
		return
	}
	s.open('{')
	for first := true; s.next('}', &first); {
		if string(s.key()) == "type" {
			g.finish, _ = s.text()
			continue
		}
		s.skip()
	}
}

func (n *native) tell(d *Decoder) {
	for i := range n.items {
		g := &n.items[i]
		if g.index < 0 {
			g.index = i
		}
		d.strange(g.odd)
		c := Choice{Index: g.index, At: g.at, Finish: g.finish}
		t := n.of(g.index)
		var ok bool
		c.Content, ok = n.news(t, g)
		d.strange(!ok)
		if g.counted {
			t.completion = g.completion
			d.ev.Usage.Prompt, d.ev.Counted = g.prompt, true
		}
		d.add(c)
	}
	if d.ev.Counted {
		for i := range n.texts {
			d.ev.Usage.Completion += n.texts[i].completion
		}
	}
	n.bare.tell(&d.ev, false)
}

// of finds or makes what is known of the text of an answer.
func (n *native) of(index int) *growth {
	for i := range n.texts {
		if n.texts[i].index == index {
			return &n.texts[i]
		}
	}
	if len(n.texts) >= maxEntries {
		return new(growth)
	}
	n.texts = append(n.texts, growth{index: index})
	return &n.texts[len(n.texts)-1]
}

// news is what is new in a text, and whether that could be told.
func (n *native) news(t *growth, g *generated) (Text, bool) {
	v := g.text
	if t.n == 0 || t.mode == more {
		n.took(t, v)
		return v, true
	}
	grown := len(v.Raw) >= t.n && maphash.Bytes(n.seed, v.Raw[:t.n]) == t.sum
	switch {
	case grown:
		rest := v.Raw[t.n:]
		v = Text{Raw: rest, At: v.At + t.n, Set: true, Escaped: bytes.IndexByte(rest, '\\') >= 0}
		if t.n >= sureText {
			t.mode = all
		}
		n.took(t, g.text)
		return v, true
	case t.mode == unsure:
		t.mode = more
		return v, true
	case !v.Set, !g.finish.Empty() && len(v.Raw) < t.n:
		return Text{}, true // a stop string is taken off in the end
	}
	return Text{}, false
}

// took notes a text as all the text so far, unless that needs no notice.
func (n *native) took(t *growth, v Text) {
	if t.mode != more && v.Set {
		t.n, t.sum = len(v.Raw), maphash.Bytes(n.seed, v.Raw)
	}
}
