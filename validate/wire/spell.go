package wire

import (
	"bytes"
	"encoding/binary"
)

// A text is hashed as it is spelled in JSON, since most clients spell alike:
// escapes of one letter where JSON demands an escape, no other. What is spelled
// otherwise is respelled first.

// odd reports whether the text may be spelled otherwise.
func (t Text) odd() bool { return t.Escaped && !t.usual && oddly(t.Raw) }

// oddly reports whether raw holds \u or \/. It may see one where there is
// none, as behind an escaped backslash.
func oddly(raw []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(raw)-i > 8; i += 8 {
		w := binary.LittleEndian.Uint64(raw[i:]) ^ ones*'\\'
		next := binary.LittleEndian.Uint64(raw[i+1:])
		u, s := next^ones*'u', next^ones*'/'
		if (w-ones)&^w&((u-ones)&^u|(s-ones)&^s)&highs != 0 {
			return true
		}
	}
	for ; i+1 < len(raw); i++ {
		if raw[i] == '\\' && (raw[i+1] == 'u' || raw[i+1] == '/') {
			return true
		}
	}
	return false
}

// respell appends raw as others would spell it.
func respell(dst, raw []byte) []byte {
	var room [64]byte
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			return append(dst, raw...)
		}
		dst, raw = append(dst, raw[:n]...), raw[n:]
		switch raw[1] {
		case 'u':
			n = units(raw)
			dst = spell(dst, decoded(room[:0], raw[:n]))
			raw = raw[n:]
		case '/':
			dst, raw = append(dst, '/'), raw[2:]
		default:
			dst, raw = append(dst, raw[:2]...), raw[2:]
		}
	}
}

// units is the length of the \u escapes that raw begins with: two of them may
// be one rune.
func units(raw []byte) int {
	n := 6
	for len(raw) >= n+6 && raw[n] == '\\' && raw[n+1] == 'u' {
		n += 6
	}
	return n
}

// decoded appends what \u escapes stand for.
func decoded(dst, raw []byte) []byte {
	var j Joiner
	base := len(dst)
	return j.lone(j.Append(dst, Text{Raw: raw, Escaped: true}), base)
}

// spell appends decoded text with the escapes that JSON demands.
func spell(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	for _, b := range text {
		switch i := bytes.IndexByte([]byte("\"\\\b\f\n\r\t"), b); {
		case i >= 0:
			dst = append(dst, '\\', `"\bfnrt`[i])
		case b < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		default:
			dst = append(dst, b)
		}
	}
	return dst
}

// decode appends what raw stands for.
func decode(dst, raw []byte) []byte {
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			return append(dst, raw...)
		}
		dst, raw = append(dst, raw[:n]...), raw[n:]
		if n = 2; raw[1] == 'u' {
			n = units(raw)
			dst = decoded(dst, raw[:n])
		} else {
			dst = append(dst, unescape[raw[1]])
		}
		raw = raw[n:]
	}
}

// blank reports whether the letter of an escape stands for space.
func blank(letter byte) bool { return letter == 'n' || letter == 't' || letter == 'r' }

// leading is the length of the space at the start of a spelled text.
func leading(raw []byte) (n int) {
	for n < len(raw) {
		switch {
		case raw[n] == ' ':
			n++
		case raw[n] == '\\' && blank(raw[n+1]):
			n += 2
		default:
			return n
		}
	}
	return n
}

// trailing is the length of the space at its end.
func trailing(raw []byte) (n int) {
	for {
		rest := raw[:len(raw)-n]
		switch {
		case bytes.HasSuffix(rest, []byte{' '}):
			n++
		case len(rest) > 1 && blank(rest[len(rest)-1]) && slashes(rest[:len(rest)-1])%2 == 1:
			n += 2
		default:
			return n
		}
	}
}

// slashes counts the backslashes at the end of b.
func slashes(b []byte) int { return len(b) - len(bytes.TrimRight(b, `\`)) }
