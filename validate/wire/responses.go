package wire

import "hash/maphash"

// responses reads the events of OpenAI's responses: items of output that are
// added, grow and are done. What grew piece by piece is told again when its
// part, its item and the response are done; it counts once.
type responses struct {
	e     responseEvent
	items []item
	parts []part

	calls []handle
	seed  maphash.Seed
	from  [3]source // of which events a text is made: content, reasoning, refusal
}

// responseEvent is an event, or a whole response, which has some of its fields.
type responseEvent struct {
	bare   bare
	at     int
	kind   Text
	output int // output_index, -1 if there is none
	itemID Text
	name   Text
	text   Text // delta, text or refusal
	args   Text
	form   ArgsForm
	item   item
	status Text
	cause  Text // of what is incomplete
	listed bool // there is a list of items
}

// item is an item of output.
type item struct {
	at      int
	kind    Text
	id      Text
	call    Call
	from, n int  // its parts
	sealed  bool // it holds reasoning that nobody else can read
}

// part is a part of an item's content.
type part struct{ kind, text Text }

// source says with which events a text came first.
type source uint8

const (
	nowhere source = iota
	pieces
	partDone
	itemDone
	allDone
)

// The texts that are told apart.
const (
	asContent = iota
	asReasoning
	asRefusal
)

func newResponses() *responses { return &responses{seed: maphash.MakeSeed()} }

func (r *responses) read(d *Decoder) {
	s := &d.s
	r.e = responseEvent{output: -1, at: s.i}
	r.items, r.parts = reuse(r.items), reuse(r.parts)
	if !d.enter('{') {
		d.strange(true)
		return
	}
	for first := true; s.next('}', &first); {
		r.field(d, string(s.key()))
	}
}

func (r *responses) field(d *Decoder, key string) {
	s, e := &d.s, &r.e
	switch key {
	case "type":
		e.kind, _ = s.text()
	case "output_index":
		if n, ok := s.integer(); ok {
			e.output = int(n)
		}
	case "item_id":
		e.itemID, _ = s.text()
	case "name":
		e.name, _ = s.text()
	case "delta", "text", "refusal":
		if t, _ := s.text(); t.Set {
			e.text = t
		}
	case "arguments":
		e.args, e.form = s.arguments()
	case "item":
		e.item = r.item(d)
	case "response":
		if !s.open('{') {
			return
		}
		for first := true; s.next('}', &first); {
			r.response(d, string(s.key()))
		}
	default:
		r.response(d, key)
	}
}

// response reads a field of a response.
func (r *responses) response(d *Decoder, key string) {
	s, e := &d.s, &r.e
	switch key {
	case "status":
		e.status, _ = s.text()
	case "incomplete_details":
		if !s.open('{') {
			return
		}
		for first := true; s.next('}', &first); {
			if string(s.key()) == "reason" {
				e.cause, _ = s.text()
				continue
			}
			s.skip()
		}
	case "output":
		e.listed = true
		r.list(d)
	case "usage":
		d.usage()
	case "error":
		d.failure()
	default:
		e.bare.read(s, key)
	}
}

func (r *responses) list(d *Decoder) {
	s := &d.s
	if !d.enter('[') {
		return
	}
	for first := true; s.next(']', &first); {
		if it := r.item(d); d.room(len(r.items)) {
			r.items = append(r.items, it)
		}
	}
}

func (r *responses) item(d *Decoder) (it item) {
	s := &d.s
	s.peek()
	it.at, it.from = s.i, len(r.parts)
	it.call.At = s.i
	if !d.enter('{') {
		return it
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "type":
			it.kind, _ = s.text()
		case "id":
			it.id, _ = s.text()
		case "call_id":
			it.call.ID, _ = s.text()
		case "name":
			it.call.Name = d.text()
		case "arguments":
			it.call.Args, it.call.Form = s.arguments()
		case "content", "summary":
			r.content(d)
		case "encrypted_content":
			t, _ := s.text()
			it.sealed = !t.Empty()
		default:
			s.skip()
		}
	}
	it.n = len(r.parts) - it.from
	return it
}

// content reads the parts of an item.
func (r *responses) content(d *Decoder) {
	s := &d.s
	if !s.open('[') {
		return
	}
	for first := true; s.next(']', &first); {
		var p part
		if !d.enter('{') {
			continue
		}
		for first := true; s.next('}', &first); {
			switch string(s.key()) {
			case "type":
				p.kind, _ = s.text()
			case "text", "refusal":
				p.text = d.text()
			default:
				s.skip()
			}
		}
		if d.room(len(r.parts)) {
			r.parts = append(r.parts, p)
		}
	}
}
