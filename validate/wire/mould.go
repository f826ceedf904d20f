package wire

import (
	"bytes"
	"encoding/binary"
)

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

// fill decodes an event of the latest one's shape that stands at the front of
// p, and says how many bytes it takes, 0 if there is none. Whatever else stands
// in it is not looked at: it is byte for byte what was there before.
func (m *mould) fill(d *Decoder, p []byte) int {
	if m.text == nil || len(p) < len(m.data)-(m.end-m.at) || !m.matches(p[:m.at], 0) {
		return 0
	}
	n, escaped := spelled(p[m.at:])
	end := m.at + n
	size := end + len(m.data) - m.end
	if n == 0 || len(p) < size || !m.matches(p[end:size], m.end) {
		return 0
	}
	*m.text = Text{Raw: p[m.at:end], At: m.at, Set: true, Escaped: escaped}
	d.ev.Failed = false // the reader may have set it
	return size
}

// matches reports whether a part of an event is the part of the shape from a
// byte on, but for the digits of its times, which it takes over: they seldom change.
func (m *mould) matches(part []byte, from int) bool {
	shape, i := m.data[from:from+len(part)], 0
	if bytes.Equal(part, shape) {
		return true
	}
	for _, t := range m.times[:m.n] {
		if t.from -= from; t.from < i || t.from >= len(part) {
			continue
		}
		if t.to -= from; !bytes.Equal(part[i:t.from], shape[i:t.from]) || !number(part[t.from:t.to]) {
			return false
		}
		i = t.to
	}
	if !bytes.Equal(part[i:], shape[i:]) {
		return false
	}
	copy(shape, part)
	return true
}

// number reports whether p is a whole number above 0.
func number(p []byte) bool {
	if len(p) == 0 || p[0] == '0' {
		return false
	}
	for ; len(p) >= 8; p = p[8:] {
		const high = ones * 0xF0 // halves of bytes: those of digits are 3, 6 more or not
		if w := binary.LittleEndian.Uint64(p); w&high|(w+ones*6)&high>>4 != ones*0x33 {
			return false
		}
	}
	for _, b := range p {
		if b < '0' || b > '9' {
			return false
		}
	}
	return true
}

// passed is told of a member's value that nobody asks for.
func (m *mould) passed(value []byte, end int) {
	if m.n < len(m.times) && number(value) {
		m.times[m.n] = span{end - len(value), end}
		m.n++
	}
}

// spelled is how many bytes stand in front of the quote that ends a text, and
// whether there are escapes among them: 0 if none are. Of escapes only ones of
// one letter are taken.
func spelled(p []byte) (n int, escaped bool) {
	for {
		n += few(p[n:])
		switch {
		case n < len(p) && p[n] == '"':
			return n, escaped
		case n+1 >= len(p) || p[n] != '\\' || unescape[p[n+1]] == 0:
			return 0, false
		}
		n, escaped = n+2, true
	}
}

// learn takes the shape of an event that was just decoded, if it is one that
// others may have: one line and one choice, in which one text stands and nothing
// else is told.
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
	if t == nil || !t.Set || t == &c.Role || t == &c.Finish || t == texts[6] || t == texts[7] || lines(data) {
		return
	}
	m.data = append(m.data[:0], data...)
	m.at, m.end, m.text = t.At, t.At+len(t.Raw), t
	if len(d.calls) == 1 && !d.calls[0].Type.Empty() {
		kind := &d.calls[0].Type
		kind.Raw = m.data[kind.At : kind.At+len(kind.Raw)]
	}
}

// lines reports whether an event has more than one line.
func lines(data []byte) bool {
	return bytes.IndexByte(data, '\n') >= 0 || bytes.IndexByte(data, '\r') >= 0
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
