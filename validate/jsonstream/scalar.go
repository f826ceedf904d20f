package jsonstream

import (
	"encoding/binary"
	"math/bits"
)

// plain counts the leading bytes of p that stand for themselves inside a
// string: ASCII but for controls, the quote and the backslash.
func plain(p []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for len(p)-n >= 8 {
		w := binary.LittleEndian.Uint64(p[n:])
		q, s := w^(ones*'"'), w^(ones*'\\')
		odd := (w | (w - ones*0x20) | (q - ones) | (s - ones)) & highs
		if odd != 0 {
			// A borrow may mark a byte behind an odd one, never one before it.
			return n + bits.TrailingZeros64(odd)/8
		}
		n += 8
	}
	for n < len(p) && p[n] >= 0x20 && p[n] < 0x80 && p[n] != '"' && p[n] != '\\' {
		n++
	}
	return n
}

// inString reads a byte of a string that plain did not take.
func (m *Machine) inString(b byte) {
	switch {
	case b == '"':
		m.quote()
	case b == '\\':
		m.st = escape
	case b < 0x20:
		m.fail(BadControl)
	case b >= 0x80:
		m.lead8(b)
	}
}

// quote ends a string.
func (m *Machine) quote() {
	if m.isKey {
		m.st = colon
		return
	}
	m.done(1)
}

// inEscape reads a byte behind a backslash, up to the end of a surrogate pair.
func (m *Machine) inEscape(b byte) {
	switch m.st {
	case escape:
		m.escaped(b)
	case hex:
		m.digit(b)
	case lowSlash:
		m.expect(b, '\\', lowU)
	case lowU:
		m.n, m.unit = 0, 0
		m.expect(b, 'u', hex)
	}
}

func (m *Machine) expect(b, want byte, next state) {
	if b != want {
		m.fail(LoneSurrogate)
		return
	}
	m.st = next
}

func (m *Machine) escaped(b byte) {
	switch b {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		m.st = str
	case 'u':
		m.st, m.n, m.unit, m.high = hex, 0, 0, false
	default:
		m.fail(BadEscape)
	}
}

// digit reads one of four hexadecimal digits. A pair is judged at the earliest
// digit that rules it out.
func (m *Machine) digit(b byte) {
	d, ok := hexDigit(b)
	if !ok {
		m.fail(BadEscape)
		return
	}
	m.unit = m.unit<<4 | d
	m.n++
	if m.n == 2 {
		low := m.unit >= 0xDC && m.unit <= 0xDF
		if low != m.high {
			m.fail(LoneSurrogate)
			return
		}
	}
	if m.n < 4 {
		return
	}
	m.high = !m.high && m.unit >= 0xD800 && m.unit <= 0xDBFF
	m.st = str
	if m.high {
		m.st = lowSlash
	}
}

func hexDigit(b byte) (uint16, bool) {
	switch {
	case b >= '0' && b <= '9':
		return uint16(b - '0'), true
	case b >= 'a' && b <= 'f':
		return uint16(b-'a') + 10, true
	case b >= 'A' && b <= 'F':
		return uint16(b-'A') + 10, true
	}
	return 0, false
}

// lead8 reads the first byte of a UTF-8 sequence of two to four bytes.
func (m *Machine) lead8(b byte) {
	m.lo, m.hi = 0x80, 0xBF
	switch {
	case b >= 0xC2 && b <= 0xDF:
		m.n = 1
	case b >= 0xE0 && b <= 0xEF:
		m.n = 2
	case b >= 0xF0 && b <= 0xF4:
		m.n = 3
	default:
		m.fail(BadUTF8)
		return
	}
	switch b {
	case 0xE0:
		m.lo = 0xA0
	case 0xED:
		m.hi = 0x9F
	case 0xF0:
		m.lo = 0x90
	case 0xF4:
		m.hi = 0x8F
	}
	m.st = utf
}

func (m *Machine) inRune(b byte) {
	if b < m.lo || b > m.hi {
		m.fail(BadUTF8)
		return
	}
	m.lo, m.hi = 0x80, 0xBF
	if m.n--; m.n == 0 {
		m.st = str
	}
}

func (m *Machine) inLiteral(b byte) {
	if b != m.lit[0] {
		m.fail(BadByte)
		return
	}
	if m.lit = m.lit[1:]; m.lit == "" {
		m.done(1)
	}
}

// numberEnds reports whether the number at hand may end here.
func (m *Machine) numberEnds() bool {
	switch m.st {
	case zero, integer, fraction, expDigits:
		return true
	}
	return false
}

// inNumber reads a byte of a number, or the first one behind it.
func (m *Machine) inNumber(b byte) {
	if next, ok := numberStep(m.st, b); ok {
		m.st = next
		return
	}
	if !m.numberEnds() {
		m.fail(BadByte)
		return
	}
	m.done(0)
	m.between(b)
}

// numberStep is the state after b, when b goes on with the number.
func numberStep(st state, b byte) (state, bool) {
	digit := b >= '0' && b <= '9'
	switch {
	case st == minus && b == '0':
		return zero, true
	case st == minus && digit, st == integer && digit:
		return integer, true
	case (st == zero || st == integer) && b == '.':
		return point, true
	case (st == point || st == fraction) && digit:
		return fraction, true
	case (st == zero || st == integer || st == fraction) && (b == 'e' || b == 'E'):
		return exponent, true
	case st == exponent && (b == '+' || b == '-'):
		return expSign, true
	case (st == exponent || st == expSign || st == expDigits) && digit:
		return expDigits, true
	}
	return st, false
}
