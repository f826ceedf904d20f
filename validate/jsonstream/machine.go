// Package jsonstream says whether a text that arrives in pieces is JSON so
// far, and where it stopped being JSON.
//
// A Machine is fed with pieces cut anywhere; its answer does not depend on
// the cuts. It keeps one bit a level of nesting and nothing of the text. The
// functions beside it (Pointer, Locate, Duplicates) look at a text that the
// caller has kept, once it is whole.
package jsonstream

// Code says what is wrong with a text.
type Code uint8

// The codes. All but Open name one impossible byte.
const (
	OK            Code = iota
	Open               // no impossible byte, but the value is not complete
	BadByte            // a byte that no value can go on with
	BadControl         // a control character inside a string
	BadEscape          // an escape that JSON does not know
	LoneSurrogate      // half of a UTF-16 pair without the other
	BadUTF8            // a byte that is not UTF-8 here
	Trailing           // more after the complete value
)

// state is what the next byte may be.
type state uint8

const (
	value      state = iota // a value
	firstValue              // a value or ]
	firstKey                // a key or }
	nextKey                 // a key
	colon
	after // , or the end of the container
	top   // the value is complete: only space
	str
	escape
	hex      // inside \uXXXX, count of digits in n
	lowSlash // a high surrogate wants a backslash
	lowU     // … and then a u
	utf      // inside a UTF-8 sequence, n bytes to go
	literal
	minus
	zero
	integer
	point
	fraction
	exponent
	expSign
	expDigits
)

// Machine reads one JSON text. Its zero value is ready.
type Machine struct {
	off   int64
	end   int64 // just behind the first complete value, 0 while there is none
	stack []uint64
	first uint64 // the bits of the outermost 64 levels: set for an object
	depth int
	deep  int // the greatest depth so far
	count int // values begun
	code  Code
	st    state
	n     uint8  // digits seen, or bytes to go
	isKey bool   // the string at hand is a key
	high  bool   // the \uXXXX at hand must be a low surrogate
	unit  uint16 // the \uXXXX at hand
	lo    byte   // bounds of the next UTF-8 continuation byte
	hi    byte
	lit   string // what is still to come of a literal
	lead  byte   // first byte that is not space
}

// Feed reads the next bytes and reports whether the text can still become
// JSON. Once it cannot, all further bytes are ignored.
func (m *Machine) Feed(p []byte) bool {
	for i := 0; i < len(p) && m.code == OK; i++ {
		if m.st == str {
			if n := plain(p[i:]); n > 0 {
				m.off += int64(n)
				if i += n; i == len(p) {
					break
				}
			}
		}
		m.step(p[i])
		if m.code == OK {
			m.off++
		}
	}
	return m.code == OK
}

// Code is OK for a complete text, Open for the beginning of one, else what is
// wrong with the byte at Offset.
func (m *Machine) Code() Code {
	switch {
	case m.code != OK:
		return m.code
	case m.st == top, m.depth == 0 && m.numberEnds():
		return OK
	}
	return Open
}

// Offset is how many bytes were good: the position of the impossible byte, or
// the length of the text.
func (m *Machine) Offset() int64 { return m.off }

// End is the position just behind the first complete value, 0 while there is none.
func (m *Machine) End() int64 {
	if m.end == 0 && m.Code() == OK {
		return m.off
	}
	return m.end
}

// Depth is the greatest nesting so far.
func (m *Machine) Depth() int { return m.deep }

// Values is how many values began so far, keys not counted.
func (m *Machine) Values() int { return m.count }

// Lead is the first byte that is not space, 0 while there is none.
func (m *Machine) Lead() byte { return m.lead }

func (m *Machine) fail(c Code) { m.code = c }

func space(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// step reads one byte.
func (m *Machine) step(b byte) {
	if m.lead == 0 && !space(b) {
		m.lead = b
	}
	switch m.st {
	case str:
		m.inString(b)
	case escape, hex, lowSlash, lowU:
		m.inEscape(b)
	case utf:
		m.inRune(b)
	case literal:
		m.inLiteral(b)
	case minus, zero, integer, point, fraction, exponent, expSign, expDigits:
		m.inNumber(b)
	default:
		m.between(b)
	}
}

// between reads a byte that is in no string, number or literal.
func (m *Machine) between(b byte) {
	switch {
	case space(b):
	case m.st == value:
		m.begin(b)
	case m.st == firstValue:
		if b == ']' {
			m.pop()
			return
		}
		m.begin(b)
	case m.st == firstKey && b == '}':
		m.pop()
	case m.st == firstKey || m.st == nextKey:
		if b != '"' {
			m.fail(BadByte)
			return
		}
		m.st, m.isKey = str, true
	case m.st == colon:
		if b != ':' {
			m.fail(BadByte)
			return
		}
		m.st = value
	case m.st == top:
		m.fail(Trailing)
	default:
		m.separate(b)
	}
}

// separate reads the byte behind a member or an element.
func (m *Machine) separate(b byte) {
	obj := m.object()
	switch {
	case b == ',' && obj:
		m.st = nextKey
	case b == ',':
		m.st = value
	case b == '}' && obj, b == ']' && !obj:
		m.pop()
	default:
		m.fail(BadByte)
	}
}

// begin reads the first byte of a value.
func (m *Machine) begin(b byte) {
	switch {
	case b == '{':
		m.push(true)
	case b == '[':
		m.push(false)
	case b == '"':
		m.st, m.isKey = str, false
	case b == '-':
		m.st = minus
	case b == '0':
		m.st = zero
	case b >= '1' && b <= '9':
		m.st = integer
	case b == 't':
		m.st, m.lit = literal, "rue"
	case b == 'f':
		m.st, m.lit = literal, "alse"
	case b == 'n':
		m.st, m.lit = literal, "ull"
	default:
		m.fail(BadByte)
		return
	}
	m.count++
}

func (m *Machine) push(obj bool) {
	word, bit := m.depth/64, uint64(1)<<(m.depth%64)
	w := &m.first
	if word > 0 {
		if word > len(m.stack) {
			m.stack = append(m.stack, 0)
		}
		w = &m.stack[word-1]
	}
	*w &^= bit
	if obj {
		*w |= bit
	}
	m.depth++
	m.deep = max(m.deep, m.depth)
	m.st = firstValue
	if obj {
		m.st = firstKey
	}
}

// object reports whether the innermost container is an object.
func (m *Machine) object() bool {
	d := m.depth - 1
	w := m.first
	if d >= 64 {
		w = m.stack[d/64-1]
	}
	return w&(1<<(d%64)) != 0
}

func (m *Machine) pop() {
	m.depth--
	m.done(1)
}

// done notes that a value is complete, behind the next n bytes.
func (m *Machine) done(n int64) {
	m.st = after
	if m.depth == 0 {
		m.st, m.end = top, m.off+n
	}
}
