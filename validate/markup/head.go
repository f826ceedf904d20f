package markup

import "bytes"

// maxName bounds the names of markers; maxAttr what is read of a tag behind its name.
const (
	maxName = 48
	maxAttr = 96
)

// head is a candidate for a marker as it stands in the text, before it is
// known what it means.
type head struct {
	name        [maxName]byte // in lower case, underscores normalised
	n           int
	hash        uint32
	slash       bool
	left, right bool // bars on this side of the name
	dsml        bool // the name is of a markup language such as DeepSeek's
	lang        Family
	assigned    bool // <name=value>
	closed      bool // ended by >
	attr        []byte
	len         int // in bytes, < included
}

func (h *head) word() []byte { return h.name[:h.n] }

// barLen is how many bytes the bar at the front of b takes, 0 if there is none.
func barLen(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '|':
		return 1
	case 0xEF: // ｜ ￨
		if len(b) > 2 && (b[1] == 0xBD && b[2] == 0x9C || b[1] == 0xBF && b[2] == 0xA8) {
			return 3
		}
	case 0xE2: // ‖ │ ┃ ❘
		if len(b) > 2 && (b[1] == 0x80 && b[2] == 0x96 || b[1] == 0x94 && (b[2] == 0x82 || b[2] == 0x83) || b[1] == 0x9D && b[2] == 0x98) {
			return 3
		}
	case 0xC7: // ǀ
		if len(b) > 1 && b[1] == 0x80 {
			return 2
		}
	}
	return 0
}

// bars skips up to two bars.
func bars(b []byte, i int) int {
	for n := 0; n < 2 && i < len(b) && (b[i] == '|' || b[i] >= 0x80); n++ {
		i += barLen(b[i:])
	}
	return i
}

// ltLen is how many bytes the < at the front of b takes, whatever its spelling.
func ltLen(b []byte) int { return angle(b, '<', 0x9C, 'c', 'C') }

// gtLen is the same for >.
func gtLen(b []byte) int { return angle(b, '>', 0x9E, 'e', 'E') }

func angle(b []byte, ascii, wide, low, up byte) int {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == ascii:
		return 1
	case len(b) > 2 && b[0] == 0xEF && b[1] == 0xBC && b[2] == wide:
		return 3
	case len(b) > 5 && string(b[:5]) == `\u003` && (b[5] == low || b[5] == up):
		return 6
	}
	return 0
}

// nameBytes tells how a byte is written in a name, 0 if it ends one.
var nameBytes = newNameBytes()

func newNameBytes() (t [256]byte) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyz0123456789_.-:") {
		t[c] = c
	}
	for c := byte('A'); c <= 'Z'; c++ {
		t[c] = c + 'a' - 'A'
	}
	return t
}

// read reads the candidate at the front of b, whose < takes lt bytes. It
// reports false if b cannot hold one; cut says that b ended before the
// candidate did.
func (h *head) read(b []byte, lt int) (ok, cut bool) {
	i := lt
	i = h.slashes(b, i)
	if j := bars(b, i); j > i {
		h.left, i = true, h.slashes(b, j)
	}
	if i, ok = h.letters(b, i); !ok {
		return false, false
	}
	if j := bars(b, i); j > i {
		h.right, i = true, j
	}
	if h.lang = language(h.word()); h.lang != Other && (h.left || h.right) {
		return true, h.language(b, i)
	}
	if h.n == 0 {
		return false, ends(b, i)
	}
	return true, h.end(b, i)
}

// ends reports whether b ends at i or in the middle of what stands there.
func ends(b []byte, i int) bool {
	n := len(b) - i
	return n <= 0 || n < 3 && b[i] >= 0xC0 || n < 6 && b[i] == '\\'
}

func (h *head) slashes(b []byte, i int) int {
	if i < len(b) && b[i] == '/' {
		h.slash = true
		i++
	}
	return i
}

// letters reads the name.
func (h *head) letters(b []byte, i int) (int, bool) {
	h.n = 0
	if h.left && i < len(b) && b[i] == '"' {
		h.name[0], h.n = '"', 1
		return i + 1, true
	}
	for i < len(b) {
		c := nameBytes[b[i]]
		if c == 0 {
			if b[i] != 0xE2 || len(b) < i+3 || b[i+1] != 0x96 || b[i+2] != 0x81 { // ▁
				break
			}
			c, i = '_', i+2
		}
		if h.n == maxName {
			return i, false
		}
		h.name[h.n] = c
		h.n++
		i++
	}
	return i, true
}

// language is the markup language that stands between bars, or in front of one.
func language(name []byte) Family {
	switch string(name) {
	case "dsml":
		return DSML
	case "gcml":
		return GigaChat
	case "ifm":
		return Horizon
	}
	return Other
}

// language reads what follows the bars of DSML: a space in some versions, a
// name, attributes.
func (h *head) language(b []byte, i int) (cut bool) {
	h.dsml = true
	for i < len(b) && b[i] == ' ' {
		i++
	}
	i = h.slashes(b, i)
	if j, ok := h.letters(b, i); ok {
		i = j
	}
	return h.end(b, i)
}

// end reads what stands between the name and the >.
func (h *head) end(b []byte, i int) (cut bool) {
	h.len = i
	if i < len(b) {
		if n := gtLen(b[i:]); n > 0 {
			h.closed, h.len = true, i+n
			return false
		}
	}
	if ends(b, i) {
		h.len = len(b)
		return true
	}
	if (h.left || h.right) && !h.dsml {
		return false
	}
	h.assigned = b[i] == '='
	if !h.assigned && b[i] != ' ' {
		return false
	}
	if !h.assigned && !h.dsml {
		if _, ok := element(h.word()); !ok { // of other tags only this attribute is of interest
			const name = "name="
			rest := b[i+1:]
			if len(rest) < len(name) && name[:len(rest)] == string(rest) {
				return true
			}
			if string(rest[:min(len(rest), len(name))]) != name {
				return false
			}
		}
	}
	return h.attributes(b, i+1)
}

func (h *head) attributes(b []byte, i int) (cut bool) {
	for j := i; j < i+maxAttr; j++ {
		if j >= len(b) {
			h.attr, h.len = b[i:], len(b)
			return true
		}
		switch c := b[j]; {
		case c == '>' || c == '\\' && gtLen(b[j:]) > 0:
			h.attr, h.closed, h.len = b[i:j], true, j+gtLen(b[j:])
			return false
		case c == '<' || c == '\n' || h.assigned && c == ' ':
			h.attr, h.len = b[i:j], j
			return false
		}
	}
	h.attr, h.len = b[i:i+maxAttr], i+maxAttr
	return false
}

// named returns the value of the attribute name, nil if there is none.
func (h *head) named() []byte {
	if h.assigned {
		return ident(h.attr)
	}
	a := h.attr
	if len(a) == 0 {
		return nil
	}
	for _, key := range [...]string{"name=", "tool="} {
		if i := bytes.Index(a, []byte(key)); i >= 0 && (i == 0 || a[i-1] == ' ') {
			a = a[i+len(key):]
			a = bytes.TrimLeft(a, `\"'`)
			return ident(a)
		}
	}
	return nil
}

// ident returns the identifier at the front of b.
func ident(b []byte) []byte {
	n := 0
	for n < len(b) && isIdent(b[n]) {
		n++
	}
	return b[:n]
}

func isIdent(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// plain reports whether c is a letter, a digit or an underscore.
func plain(c byte) bool { return c != '-' && c != '.' && isIdent(c) }
