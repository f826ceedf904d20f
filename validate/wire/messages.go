package wire

import "strings"

// messages reads the events of Anthropic's messages: blocks of content that
// begin, grow and end one after another. The index of a call is its place
// among the calls, not among the blocks.
type messages struct {
	bare   bare
	kind   Text
	index  int
	block  content // that begins
	delta  content
	whole  content // the message itself, with what is in blocks
	blocks []content

	open   []slot // blocks that began
	calls  int
	prompt int64 // tokens, as the first event says
}

// content is a block of content, or a change of one, or a message.
type content struct {
	at      int
	kind    Text
	role    Text
	text    Text
	thought Text
	partial Text // of the arguments
	input   Text // the arguments as a value
	id      Text
	name    Text
	stop    Text
	some    bool // the message has a list of blocks
}

// slot is a block that began.
type slot struct {
	index int
	call  int // -1 if it is none of the client's
}

// maxSlots bounds the blocks, and the calls, that are kept in mind of a stream.
const maxSlots = 4096

func (m *messages) read(d *Decoder) {
	s := &d.s
	*m = messages{open: m.open, calls: m.calls, prompt: m.prompt, blocks: reuse(m.blocks)}
	if m.whole.at = s.i; !d.enter('{') {
		d.strange(true)
		return
	}
	for first := true; s.next('}', &first); {
		m.field(d, string(s.key()))
	}
}

func (m *messages) field(d *Decoder, key string) {
	s := &d.s
	switch key {
	case "type":
		m.kind, _ = s.text()
	case "index":
		if n, ok := s.integer(); ok {
			m.index = int(n)
		}
	case "delta":
		m.delta.read(d)
	case "content_block":
		m.block.read(d)
	case "message":
		if s.peek() != '{' {
			m.bare.read(s, key)
			return
		}
		s.open('{')
		for first := true; s.next('}', &first); {
			m.member(d, string(s.key()))
		}
	case "error":
		d.failure()
	case "object", "code":
		m.bare.read(s, key)
	default:
		m.member(d, key)
	}
}

// member reads a member of a message, which is the body itself, or stands in
// the event that begins a stream.
func (m *messages) member(d *Decoder, key string) {
	s := &d.s
	switch key {
	case "role":
		m.whole.role = d.text()
	case "content":
		m.whole.some = true
		m.list(d)
	case "stop_reason":
		m.whole.stop, _ = s.text()
	case "usage":
		d.usage()
	default:
		s.skip()
	}
}

func (m *messages) list(d *Decoder) {
	s := &d.s
	if !d.enter('[') {
		return
	}
	for first := true; s.next(']', &first); {
		var b content
		b.read(d)
		if d.room(len(m.blocks)) {
			m.blocks = append(m.blocks, b)
		}
	}
}

func (b *content) read(d *Decoder) {
	s := &d.s
	s.peek()
	b.at = s.i
	if !d.enter('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "type":
			b.kind, _ = s.text()
		case "text":
			b.text = d.text()
		case "thinking":
			b.thought = d.text()
		case "partial_json":
			b.partial = d.text()
		case "input":
			s.peek()
			b.input.At = s.i
			b.input.Raw = s.skip()
		case "id":
			b.id, _ = s.text()
		case "name":
			b.name = d.text()
		case "stop_reason":
			b.stop, _ = s.text()
		default:
			s.skip()
		}
	}
}

func (m *messages) tell(d *Decoder) {
	m.prompt = max(m.prompt, d.ev.Usage.Prompt)
	counted := d.ev.Usage.Completion > 0
	d.ev.Usage.Prompt, d.ev.Counted = m.prompt, false
	switch string(m.kind.Raw) {
	case "message":
		d.ev.Counted = counted
		d.strange(!m.whole.some)
		m.message(d)
	case "message_start":
		m.message(d) // the tokens that are counted there are not those of the answer
	case "content_block_start":
		m.begin(d, &m.block, m.index)
	case "content_block_delta":
		m.grow(d)
	case "message_delta":
		d.ev.Counted = counted
		d.add(Choice{At: m.delta.at, Finish: m.delta.stop})
	case "message_stop":
		d.ev.Done = true
	}
	m.bare.tell(&d.ev, m.kind.Is("error"))
}

// message tells of a message with all its blocks.
func (m *messages) message(d *Decoder) {
	d.add(Choice{At: m.whole.at, Role: m.whole.role})
	for i := range m.blocks {
		m.begin(d, &m.blocks[i], i)
	}
	if !m.whole.stop.Empty() {
		d.add(Choice{At: m.whole.at, Finish: m.whole.stop})
	}
}

// begin tells of a block that begins, or is all there.
func (m *messages) begin(d *Decoder, b *content, index int) {
	switch {
	case b.kind.Is("text"), b.kind.Is("thinking"):
		m.slot(index, -1)
		d.add(Choice{At: b.at, Content: b.text, Reasoning: b.thought})
	case b.kind.Is("tool_use"):
		k := Call{Index: m.call(index), Indexed: true, At: b.at, ID: b.id, Name: b.name}
		if m.kind.Is("message") || !empty(b.input.Raw) {
			k.input(b.input)
		}
		d.addCall(k)
	default:
		m.slot(index, -1)
		d.strange(!served(b.kind))
		d.add(Choice{At: b.at, Parts: true})
	}
}

// input gives a call the arguments that its block begins with. Where others
// follow, these do not count.
func (k *Call) input(v Text) {
	switch {
	case len(v.Raw) == 0:
	case v.Raw[0] == 'n':
		k.Form = ArgsNull
	default:
		k.Args, k.Form, k.Draft = v, ArgsValue, true
	}
}

// served reports whether a block is of a kind that concerns no tool of the
// client: what the server called itself, and what it hides.
func served(kind Text) bool {
	word := kind.String()
	return strings.HasSuffix(word, "_tool_result") || known(kind, "server_tool_use", "mcp_tool_use", "redacted_thinking", "container_upload", "compaction")
}

// grow tells of a change of a block.
func (m *messages) grow(d *Decoder) {
	b := &m.delta
	switch {
	case b.kind.Is("input_json_delta"):
		if n := m.find(m.index); b.partial.Empty() || n != nil && n.call < 0 {
			return
		}
		d.addCall(Call{Index: m.call(m.index), Indexed: true, At: b.at, Args: b.partial, Form: ArgsText})
	case known(b.kind, "text_delta", "thinking_delta", "signature_delta", "citations_delta", "compaction_delta"):
		d.add(Choice{At: b.at, Content: b.text, Reasoning: b.thought})
	default:
		d.strange(true)
	}
}

func (m *messages) find(index int) *slot {
	for i := len(m.open) - 1; i >= 0; i-- {
		if m.open[i].index == index {
			return &m.open[i]
		}
	}
	return nil
}

// slot notes what a block is.
func (m *messages) slot(index, call int) {
	if s := m.find(index); s != nil {
		s.call = call
	} else if len(m.open) < maxSlots {
		m.open = append(m.open, slot{index, call})
	}
}

// call is the place of a block among the calls. A block that begins again
// keeps its place: two calls in one block collide.
func (m *messages) call(index int) int {
	if s := m.find(index); s != nil && s.call >= 0 {
		return s.call
	}
	m.slot(index, m.calls)
	m.calls++
	return m.calls - 1
}
