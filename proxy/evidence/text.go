package evidence

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// text is something that was said. Each of its bytes stands for some of the
// text that it was read from, and so in the end for bytes of a file: a letter
// may be an escape sequence there, of which one half came with an event and the
// other with the next.
type text struct {
	b    []byte
	of   *text   // what it was read from; nil: it is the file itself
	from []int32 // where in of the byte begins
	n    []uint8 // how many bytes of of it stands for
	hide []bool  // of a file: what is to be masked
}

func newFile(b []byte) *text { return &text{b: b, hide: make([]bool, len(b))} }

// mask hides what the bytes from i to j stand for, but for the punctuation of
// JSON, which keeps its structure.
func (t *text) mask(i, j int) {
	for ; i < j; i++ {
		if !structural(t.b[i]) {
			t.cover(i, i+1)
		}
	}
}

// cover hides them whatever they are.
func (t *text) cover(i, j int) {
	for ; i < j; i++ {
		if t.of == nil {
			t.hide[i] = true
			continue
		}
		t.of.cover(int(t.from[i]), int(t.from[i])+int(t.n[i]))
	}
}

func structural(c byte) bool {
	switch c {
	case '"', '\\', '{', '}', '[', ']', ':', ',':
		return true
	}
	return c <= ' ' || c == 0x7f
}

// add appends bytes that stand for n bytes of what t was read from.
func (t *text) add(b []byte, from, n int) {
	t.b = append(t.b, b...)
	for range b {
		t.from, t.n = append(t.from, int32(from)), append(t.n, uint8(n))
	}
}

// unescape reads the bytes from i to j of t as the inside of a string of JSON,
// and appends what it says to out, which is read from t. What is no escape
// sequence stands for itself.
func (t *text) unescape(out *text, i, j int) {
	for i < j {
		r, n := escape(t.b[i:j])
		if n == 0 {
			out.add(t.b[i:i+1], i, 1)
			i++
			continue
		}
		var room [utf8.UTFMax]byte
		out.add(utf8.AppendRune(room[:0], r), i, n)
		i += n
	}
}

// escape reads the escape sequence at the beginning of b, both halves of a
// surrogate pair together; n is 0 if there is none.
func escape(b []byte) (r rune, n int) {
	if len(b) < 2 || b[0] != '\\' {
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return unicodeEscape(b)
	}
	return 0, 0
}

func unicodeEscape(b []byte) (rune, int) {
	r, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hex4(b[6:]); ok {
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return both, 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 reads \uXXXX.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(v), err == nil
}

// masked returns the file with what is hidden masked, and whether anything is.
// An escape sequence is masked whole or not at all: half of one is no JSON.
func (t *text) masked() ([]byte, bool) {
	out, any := append([]byte(nil), t.b...), false
	for i := 0; i < len(t.b); {
		n, hidden := t.unit(i)
		for k := i; hidden && k < i+n; k++ {
			out[k], any = blank(t.b[k]), true
		}
		i += n
	}
	return out, any
}

// unit returns the length of the byte or the escape sequence at i, and whether
// it is hidden.
func (t *text) unit(i int) (n int, hidden bool) {
	_, n = escape(t.b[i:])
	if n == 0 {
		return 1, t.hide[i]
	}
	all := true
	for k := i; k < i+n; k++ {
		all, hidden = all && t.hide[k], hidden || t.hide[k]
	}
	if c := t.b[i+1]; c == '"' || c == '\\' {
		return n, all
	}
	return n, hidden
}

// blank is what stands for a byte that is masked.
func blank(c byte) byte {
	if '0' <= c && c <= '9' {
		return '9'
	}
	return 'x'
}
