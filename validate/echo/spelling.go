package echo

import (
	"fmt"
	"unicode/utf8"
)

// spellings are the other ways in which a text may stand in JSON, or in JSON
// that is a string of JSON, as the results of tools are: escaped once or
// twice, with what is beyond ASCII as it is or escaped.
func spellings(v []byte) [][]byte {
	special, beyond := false, false
	for _, b := range v {
		special = special || b < ' ' || b == '"' || b == '\\'
		beyond = beyond || b >= utf8.RuneSelf
	}
	var all [][]byte
	if special {
		once := quote(v, false)
		all = append(all, once, quote(once, false))
	}
	if beyond {
		once := quote(v, true)
		all = append(all, once, quote(once, false))
	}
	return all
}

// quote escapes a text for JSON, what is beyond ASCII too if that is asked for.
func quote(v []byte, ascii bool) []byte {
	b := make([]byte, 0, len(v)+8)
	for len(v) > 0 {
		r, n := utf8.DecodeRune(v)
		switch i := indexByte("\"\\\n\r\t\b\f", v[0]); {
		case i >= 0:
			b = append(b, '\\', `"\nrtbf`[i])
		case r < ' ':
			b = fmt.Appendf(b, `\u%04x`, r)
		case r < utf8.RuneSelf || !ascii:
			b = append(b, v[:n]...)
		case r > 0xffff:
			r -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
		v = v[n:]
	}
	return b
}

func indexByte(s string, b byte) int {
	for i := range len(s) {
		if s[i] == b {
			return i
		}
	}
	return -1
}
