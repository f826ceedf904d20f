package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// SyntaxError says at which byte a text is no JSON, or nests deeper than is read.
type SyntaxError struct {
	Offset int
	Deep   bool
}

// Error names the byte.
func (e *SyntaxError) Error() string { return fmt.Sprintf("no JSON at byte %d", e.Offset) }

// maxDepth is how deep values may nest. No answer of a chat nests like that.
const maxDepth = 1000

// Text is a string of an event, still escaped, in the event's bytes.
type Text struct {
	Raw     []byte // between the quotes
	At      int    // where Raw begins in the event
	Set     bool   // there was a string (not null, not absent)
	Escaped bool   // Raw holds a backslash
	usual   bool   // Raw is known to be spelled as most clients do
}

// Is reports whether the text is s.
func (t Text) Is(s string) bool {
	if !t.Escaped {
		return string(t.Raw) == s
	}
	return t.String() == s
}

// String decodes the text.
func (t Text) String() string {
	if !t.Escaped {
		return string(t.Raw)
	}
	var j Joiner
	return string(j.Append(nil, t))
}

// Empty reports whether there is no text at all.
func (t Text) Empty() bool { return len(t.Raw) == 0 }

// unescape is what a letter behind a backslash stands for, 0 where none does.
var unescape = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// hexDigit is the value of a hexadecimal digit plus one, 0 for another byte.
var hexDigit = func() (t [256]byte) {
	for i, b := range "0123456789abcdef" {
		t[b] = byte(i) + 1
	}
	for i, b := range "ABCDEF" {
		t[b] = byte(i) + 11
	}
	return t
}()

// scanner walks one whole JSON text and checks its grammar on the way. After
// a fault it stands at the end, so that every loop ends.
type scanner struct {
	b     []byte
	i     int
	depth int
	fault int // position of the fault plus one
	deep  bool
	lax   bool // strings are not checked beyond where they end
}

func (s *scanner) fail() {
	if s.fault == 0 {
		s.fault = s.i + 1
	}
	s.i = len(s.b)
}

// peek is the next byte that is not space, 0 at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.b) {
		switch b := s.b[s.i]; b {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return b
		}
	}
	return 0
}

// open enters the container that begins with b, if one is here; else it skips
// the value. The caller goes through it with next.
func (s *scanner) open(b byte) bool {
	if s.peek() != b {
		s.skip()
		return false
	}
	s.i++
	if s.depth++; s.depth > maxDepth && s.fault == 0 {
		s.deep = true
		s.fail()
	}
	return s.fault == 0
}

// next moves to the next member or element; first must be true before the
// first one. It leaves the container at its end.
func (s *scanner) next(end byte, first *bool) bool {
	b := s.peek()
	if b == ',' && !*first && s.i+1 < len(s.b) && s.b[s.i+1] == '"' { // as most are
		s.i++
		return s.fault == 0
	}
	if b == end {
		s.i++
		s.depth--
		return false
	}
	if !*first {
		if b != ',' {
			s.fail()
			return false
		}
		s.i++
		if s.peek() == end {
			s.fail()
			return false
		}
	}
	*first = false
	return s.fault == 0 && s.i < len(s.b) || s.short()
}

// short notes that the text ends too early.
func (s *scanner) short() bool {
	s.fail()
	return false
}

// key reads a member's key and the colon.
func (s *scanner) key() []byte {
	if s.peek() != '"' {
		s.fail()
		return nil
	}
	from := s.i + 1
	if end := from + few(s.b[from:]); end+1 < len(s.b) && s.b[end] == '"' && s.b[end+1] == ':' { // as most are
		s.i = end + 2
		return s.b[from:end]
	}
	t := s.str()
	if s.peek() != ':' {
		s.fail()
		return nil
	}
	s.i++
	if t.Escaped && s.fault == 0 {
		return []byte(t.String())
	}
	return t.Raw
}

// text reads a string; any other value is skipped. odd reports a value that
// is neither a string nor null.
func (s *scanner) text() (t Text, odd bool) {
	switch s.peek() {
	case '"':
		return s.str(), false
	case 'n':
		s.skip()
		return t, false
	}
	s.skip()
	return t, true
}

// str reads the string that begins here.
func (s *scanner) str() (t Text) {
	s.i++
	t.At, t.Set = s.i, true
	if s.lax && s.jump(&t) {
		return t
	}
	for {
		s.i += plain(s.b[s.i:])
		if s.i >= len(s.b) {
			s.fail()
			return t
		}
		switch b := s.b[s.i]; {
		case b == '"':
			t.Raw = s.b[t.At:s.i]
			s.i++
			return t
		case b == '\\':
			t.Escaped = true
			if !s.escape() {
				return t
			}
		default:
			s.fail()
			return t
		}
	}
}

// jump reads a string up to its end alone. It reports false, and reads
// nothing, where there is none or the string holds more than plain escapes.
func (s *scanner) jump(t *Text) bool {
	for end := s.i; ; end++ {
		n := bytes.IndexByte(s.b[end:], '"')
		if n < 0 {
			return false
		}
		end += n
		raw := s.b[t.At:end]
		if n > 0 && slashes(raw)%2 == 1 {
			continue
		}
		escaped := bytes.IndexByte(raw, '\\') >= 0
		if escaped && oddly(raw) {
			return false
		}
		t.Raw, t.Escaped, t.usual = raw, escaped, true
		s.i = end + 1
		return true
	}
}

func (s *scanner) escape() bool {
	if s.i++; s.i >= len(s.b) {
		s.fail()
		return false
	}
	if s.b[s.i] != 'u' {
		if unescape[s.b[s.i]] == 0 {
			s.fail()
			return false
		}
		s.i++
		return true
	}
	for n := 0; n < 4; n++ {
		if s.i++; s.i >= len(s.b) || hexDigit[s.b[s.i]] == 0 {
			s.fail()
			return false
		}
	}
	s.i++
	return true
}

// plain counts the leading bytes that stand for themselves in a string. Bytes
// from 0x80 on count: UTF-8 is checked elsewhere.
func plain(p []byte) int {
	n := 0
	if len(p) >= 8 { // most strings are short
		if at := odd(binary.LittleEndian.Uint64(p)); at != 0 {
			return bits.TrailingZeros64(at) / 8
		}
		n = 8
	}
	for ; len(p)-n >= 32; n += 32 { // four words at a time: most strings that are long are prose
		w := p[n : n+32]
		a, b := binary.LittleEndian.Uint64(w), binary.LittleEndian.Uint64(w[8:])
		c, d := binary.LittleEndian.Uint64(w[16:]), binary.LittleEndian.Uint64(w[24:])
		if odd(a)|odd(b)|odd(c)|odd(d) != 0 {
			break
		}
	}
	return n + few(p[n:])
}

// few is plain for strings that are seldom long.
func few(p []byte) int {
	n := 0
	for ; len(p)-n >= 8; n += 8 {
		if at := odd(binary.LittleEndian.Uint64(p[n:])); at != 0 {
			return n + bits.TrailingZeros64(at)/8
		}
	}
	for n < len(p) && p[n] >= 0x20 && p[n] != '"' && p[n] != '\\' {
		n++
	}
	return n
}

// ones and highs are of each byte of a word the lowest bit and the highest.
const ones, highs = 0x0101010101010101, 0x8080808080808080

// odd marks the first byte of eight that does not stand for itself in a string;
// a borrow may mark bytes behind it, never one before it. With its second bit
// turned over, a quote stands right behind the controls.
func odd(w uint64) uint64 {
	q, s := w^(ones*2), w^(ones*'\\')
	return ((q-ones*0x21)&^q | (s-ones)&^s) & highs
}

// skip reads any value and returns its bytes.
func (s *scanner) skip() []byte {
	b := s.peek()
	from := s.i
	switch {
	case b == '"':
		s.str()
	case b == '{':
		s.open('{')
		for first := true; s.next('}', &first); {
			s.key()
			s.skip()
		}
	case b == '[':
		s.open('[')
		for first := true; s.next(']', &first); {
			s.skip()
		}
	case b == '-' || b >= '0' && b <= '9':
		s.number()
	default:
		s.literal()
	}
	if s.fault != 0 {
		return nil
	}
	return s.b[from:s.i]
}

func (s *scanner) literal() {
	for _, l := range [...]string{"null", "true", "false"} {
		if len(s.b)-s.i >= len(l) && string(s.b[s.i:s.i+len(l)]) == l {
			s.i += len(l)
			return
		}
	}
	s.fail()
}

func (s *scanner) number() {
	if s.b[s.i] == '-' {
		s.i++
	}
	if s.at('0') {
		s.i++
	} else {
		s.digits()
	}
	if s.at('.') {
		s.i++
		s.digits()
	}
	if s.at('e') || s.at('E') {
		s.i++
		if s.at('+') || s.at('-') {
			s.i++
		}
		s.digits()
	}
}

func (s *scanner) at(b byte) bool { return s.i < len(s.b) && s.b[s.i] == b }

func (s *scanner) digits() {
	from := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	if s.i == from {
		s.fail()
	}
}

// integer reads a whole number that fits; any other value is skipped.
func (s *scanner) integer() (n int64, ok bool) {
	v := s.skip()
	if len(v) == 0 || len(v) > 18 {
		return 0, false
	}
	sign := int64(1)
	if v[0] == '-' {
		sign, v = -1, v[1:]
	}
	for _, b := range v {
		if b < '0' || b > '9' {
			return 0, false
		}
		n = n*10 + int64(b-'0')
	}
	return sign * n, true
}

// count reads a whole number into n; any other value leaves it.
func (s *scanner) count(n *int64) bool {
	v, ok := s.integer()
	if ok {
		*n = v
	}
	return ok
}

// finish checks that only space follows, and returns the fault if there is one.
func (s *scanner) finish() error {
	if s.fault == 0 && s.peek() != 0 || s.fault == 0 && s.i < len(s.b) {
		s.fail()
	}
	if s.fault != 0 {
		return &SyntaxError{Offset: s.fault - 1, Deep: s.deep}
	}
	return nil
}
