package wire

// content reads what a message says: a text, or a list of parts whose texts
// count as one. What is no text goes into m, unless that is nil.
func (t *talk) content(m *message) uint64 {
	s := &t.s
	t.text.Begin(t.seed)
	switch s.peek() {
	case '"':
		t.texts(s.str())
	case '[':
		s.open('[')
		for first := true; s.next(']', &first); {
			t.part(m)
		}
	case '{':
		t.extra(m, t.value())
	default:
		s.skip()
	}
	return t.text.Sum()
}

func (t *talk) extra(m *message, h uint64) {
	if m != nil {
		m.extra = t.fold(m.extra, h)
	}
}

// texts adds a text.
func (t *talk) texts(v Text) {
	if t.s.fault == 0 {
		t.buf = t.text.Add(t.buf, v)
	}
}

// part reads one part of a content. A text, a call, the answer to a call and
// what the model thought have known shapes; any other part counts as it is,
// but for marks of a cache, which wander.
func (t *talk) part(m *message) {
	s := &t.s
	if s.peek() != '{' {
		if s.peek() == '"' {
			t.texts(s.str())
			return
		}
		t.extra(m, t.value())
		return
	}
	p, rest := piece{}, uint64(0)
	s.open('{')
	for first := true; s.next('}', &first); {
		t.pieceField(&p, &rest, string(s.key()))
	}
	switch kind := p.call.Type.String(); kind {
	case "text", "input_text", "output_text", "":
		t.texts(p.text)
		if kind == "" && !p.text.Set {
			t.extra(m, rest)
		}
	case "thinking", "redacted_thinking", "reasoning":
	case "tool_use":
		if m != nil {
			m.calls = t.fold(m.calls, t.call(&p.call))
		}
	default:
		t.extra(m, t.mix(t.string(p.call.Type), t.string(p.text), rest))
	}
}

// piece is a part as it is read.
type piece struct {
	text Text
	call Call
}

func (t *talk) pieceField(p *piece, rest *uint64, key string) {
	s := &t.s
	switch key {
	case "type":
		p.call.Type, _ = s.text()
	case "text":
		p.text, _ = s.text()
	case "id":
		p.call.ID, _ = s.text()
	case "name":
		p.call.Name, _ = s.text()
	case "input":
		p.call.Args.Raw, p.call.Form = s.skip(), ArgsValue
	case "cache_control":
		s.skip()
	default:
		*rest += t.mix(t.bytes([]byte(key)), t.value())
	}
}

func (t *talk) calls(m *message) {
	s := &t.s
	if !s.open('[') {
		return
	}
	for first := true; s.next(']', &first); {
		var c Call
		if !s.open('{') {
			continue
		}
		for first := true; s.next('}', &first); {
			switch string(s.key()) {
			case "id":
				c.ID, _ = s.text()
			case "function":
				t.function(&c)
			default:
				s.skip()
			}
		}
		m.calls = t.fold(m.calls, t.call(&c))
	}
}

func (t *talk) function(c *Call) {
	s := &t.s
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "name":
			c.Name, _ = s.text()
		case "arguments":
			t.arguments(c)
		default:
			s.skip()
		}
	}
}

func (t *talk) arguments(c *Call) {
	if t.s.peek() == '"' {
		c.Args, c.Form = t.s.str(), ArgsText
		return
	}
	c.Args.Raw, c.Form = t.s.skip(), ArgsValue
}

// call hashes a call as the request spells it.
func (t *talk) call(c *Call) uint64 {
	if t.s.fault != 0 {
		return 0
	}
	args := c.Args.Raw
	if c.Form == ArgsText && c.Args.Escaped {
		t.buf = decode(t.buf[:0], args)
		args = t.buf
	}
	return t.mix(t.string(c.ID), t.string(c.Name), t.JSON(args))
}

// ofString tells the hash of a string from that of a number that is spelled alike,
// and the empty string from nothing.
const ofString = '"'

// value hashes any value, however it is spelled. Members that are null count
// as absent.
func (t *talk) value() uint64 {
	s := &t.s
	switch s.peek() {
	case '{':
		return t.object()
	case '[':
		sum := uint64('[')
		s.open('[')
		for first := true; s.next(']', &first); {
			sum = t.mix(sum, t.value())
		}
		return sum
	case '"':
		return t.string(s.str()) ^ ofString
	case 'n':
		s.skip()
		return 0
	}
	return t.bytes(s.skip())
}

func (t *talk) object() (sum uint64) {
	s := &t.s
	s.open('{')
	for first := true; s.next('}', &first); {
		key := t.bytes(s.key())
		if v := t.value(); v != 0 {
			sum += t.mix(key, v)
		}
	}
	return t.mix('{', sum)
}

// string hashes a text as it is, 0 for none.
func (t *talk) string(v Text) uint64 {
	if t.s.fault != 0 {
		return 0
	}
	if v.odd() {
		return t.bytes(respell(nil, v.Raw))
	}
	return t.bytes(v.Raw)
}
