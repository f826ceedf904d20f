package wire

import "bytes"

// mould is the shape of a decoder's latest event: what stands around the one
// text in it. The events of a stream differ in little else, and one of the same
// shape says the same but for its text.
type mould struct {
	data    []byte // the event
	at, end int    // where its text stands in data
	text    *Text  // the text, in the decoder's event; nil while there is no shape
	times   [2]span
	n       int // how many times there are
}

// span is where a number stands that nobody asks for, such as when the event
// was made.
type span struct{ from, to int }

// maxMould bounds the memory of a shape.
const maxMould = 2 << 10

// fill decodes an event of the latest one's shape, and reports whether it is
// one. Whatever else stands there is not looked at: it is byte for byte what
// was there before.
func (m *mould) fill(d *Decoder, data []byte) bool {
	end := len(data) - (len(m.data) - m.end)
	if m.text == nil || end <= m.at || !m.matches(data[:m.at], 0) || !m.matches(data[end:], m.end) {
		return false
	}
	raw := data[m.at:end]
	escaped, ok := spelled(raw)
	if ok {
		*m.text = Text{Raw: raw, At: m.at, Set: true, Escaped: escaped}
		d.ev.Failed = false // the reader may have set it
	}
	return ok
}

// matches reports whether a part of an event is the part of the shape from a
// byte on, but for the digits of its times.
func (m *mould) matches(part []byte, from int) bool {
	shape, i := m.data[from:from+len(part)], 0
	for _, t := range m.times[:m.n] {
		if t.from -= from; t.from < i || t.from >= len(part) {
			continue
		}
		if t.to -= from; !bytes.Equal(part[i:t.from], shape[i:t.from]) || !number(part[t.from:t.to]) {
			return false
		}
		i = t.to
	}
	return bytes.Equal(part[i:], shape[i:])
}

// number reports whether p is a whole number above 0.
func number(p []byte) bool {
	for _, b := range p {
		if b < '0' || b > '9' {
			return false
		}
	}
	return len(p) > 0 && p[0] != '0'
}

// passed is told of a member's value that nobody asks for.
func (m *mould) passed(value []byte, end int) {
	if m.n < len(m.times) && number(value) {
		m.times[m.n] = span{end - len(value), end}
		m.n++
	}
}

// spelled reports whether the quotes around a text end it, and whether there
// are escapes in it. Of those only ones of one letter are taken.
func spelled(raw []byte) (escaped, ok bool) {
	for i := 0; ; i += 2 {
		i += plain(raw[i:])
		if i == len(raw) {
			return escaped, true
		}
		if raw[i] != '\\' || i+1 == len(raw) || bytes.IndexByte([]byte(`"\/bfnrt`), raw[i+1]) < 0 {
			return false, false
		}
		escaped = true
	}
}

// learn takes the shape of an event that was just decoded, if it is one that
// others may have: one choice, in which one text stands and nothing else is
// told.
func (m *mould) learn(d *Decoder, data []byte) {
	m.text = nil
	if d.Dialect > Completions || len(data) > maxMould || d.ev.Failed || !d.ev.Error.Empty() || len(d.ev.Choices) != 1 || len(d.calls) > 1 {
		return
	}
	c := &d.ev.Choices[0]
	texts := [...]*Text{&c.Content, &c.Reasoning, &c.Refusal, &c.Role, &c.Finish, nil, nil, nil}
	if len(d.calls) == 1 {
		k := &d.calls[0]
		texts[5], texts[6], texts[7] = &k.Args, &k.ID, &k.Name
	}
	t := only(texts[:])
	if t == nil || !t.Set || t == &c.Role || t == &c.Finish || t == texts[6] || t == texts[7] {
		return
	}
	m.data = append(m.data[:0], data...)
	m.at, m.end, m.text = t.At, t.At+len(t.Raw), t
	if len(d.calls) == 1 && !d.calls[0].Type.Empty() {
		kind := &d.calls[0].Type
		kind.Raw = m.data[kind.At : kind.At+len(kind.Raw)]
	}
}

// only is the one of these texts that is not empty, nil if there is none or
// another.
func only(texts []*Text) (t *Text) {
	for _, one := range texts {
		if one == nil || one.Empty() {
			continue
		}
		if t != nil {
			return nil
		}
		t = one
	}
	return t
}
