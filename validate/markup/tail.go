package markup

import "bytes"

// tail looks for the end of a call in JSON of which a parser took the
// beginning: its arguments, and behind them a brace that closes nothing that
// the text opened, at the end of the text. Of text without quotes it counts
// braces only.
type tail struct {
	dead       bool // there is code in the text, or nothing is to be found
	mode       tailMode
	open       int // braces that the text opened and has not closed
	depth      int // of the arguments
	quoted     bool
	escaped    bool
	start, end int64
	back       [maxKey]byte // the bytes in front
	n          int
}

// maxKey is the length of the longer one of the keys that hold arguments.
const maxKey = len("parameters")

type tailMode uint8

const (
	seeking tailMode = iota
	behindKey
	behindColon
	inArguments
	behindArguments
	surplus
)

// write reads the next piece of the text, which begins at an offset.
func (t *tail) write(p []byte, at int64) {
	for len(p) > 0 && !t.dead {
		n := t.step(p, at)
		p, at = p[n:], at+int64(n)
	}
}

func (t *tail) step(p []byte, at int64) int {
	switch t.mode {
	case seeking:
		return t.seek(p, at)
	case inArguments:
		return t.arguments(p)
	}
	t.follow(p[0], at)
	return 1
}

// seek reads up to the end of a string, which may be a key.
func (t *tail) seek(p []byte, at int64) int {
	i := bytes.IndexByte(p, '"')
	n := i + 1
	if i < 0 {
		n = len(p)
	}
	front := p[:n]
	t.open += bytes.Count(front, []byte("{")) - bytes.Count(front, []byte("}"))
	t.dead = bytes.IndexByte(front, '`') >= 0
	if size := t.key(p[:max(i, 0)]); i >= 0 && size > 0 && t.open <= 0 {
		t.mode, t.start = behindKey, at+int64(i-size)
	}
	t.keep(front)
	return n
}

// key is how long the key is that p ends in, 0 if it ends in none.
func (t *tail) key(p []byte) int {
	var b [2 * maxKey]byte
	n := copy(b[:], t.back[:t.n])
	n += copy(b[n:], p[max(len(p)-maxKey, 0):])
	for _, key := range [...]string{"arguments", "parameters"} {
		if bytes.HasSuffix(b[:n], []byte(key)) {
			return len(key)
		}
	}
	return 0
}

// keep remembers the last bytes that were read.
func (t *tail) keep(p []byte) {
	if len(p) >= maxKey {
		t.n = copy(t.back[:], p[len(p)-maxKey:])
		return
	}
	drop := max(t.n+len(p)-maxKey, 0)
	t.n = copy(t.back[:], t.back[drop:t.n])
	t.n += copy(t.back[t.n:], p)
}

// arguments reads up to the end of the object that they are.
func (t *tail) arguments(p []byte) int {
	for i, b := range p {
		switch {
		case t.escaped:
			t.escaped = false
		case t.quoted && b == '\\':
			t.escaped = true
		case b == '"':
			t.quoted = !t.quoted
		case t.quoted:
		case b == '{':
			t.depth++
		case b == '}':
			if t.depth--; t.depth == 0 {
				t.mode = behindArguments
				return i + 1
			}
		}
	}
	return len(p)
}

// follow reads what stands between the parts.
func (t *tail) follow(b byte, at int64) {
	switch {
	case b == ' ' || b == '\n' || b == '\t' || b == '\r':
	case t.mode == behindKey && b == ':':
		t.mode, t.end = behindColon, at+1
	case t.mode == behindColon && b == '{':
		t.mode, t.depth = inArguments, 1
	case t.mode == behindArguments && b == '}':
		t.mode, t.end = surplus, at+1
	case t.mode == surplus && (b == '}' || b == ']'):
	default:
		t.mode, t.n = seeking, 0
		t.seek([]byte{b}, at)
	}
}

// found reports whether the text ends in the end of a call, or in the key of
// arguments that are missing.
func (t *tail) found() bool { return (t.mode == surplus || t.mode == behindColon) && !t.dead }
