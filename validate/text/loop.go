package text

import (
	"bytes"
	"unicode/utf8"
)

const (
	window   = 2048 // how far back a text is remembered at least
	needle   = 16   // how many bytes must repeat before a loop is looked at
	often    = 256  // how many bytes apart short loops are looked for
	short    = 512  // the longest period of those
	slack    = 16   // how much may follow a loop that the text ends with
	minTrack = 48   // runs shorter than this are not remembered
)

// loop finds out whether a text goes round in circles.
type loop struct {
	buf  [2 * window]byte
	n    int
	base int64 // offset of buf[0]

	lag   int   // the run's period or a multiple of it, 0 if there is none
	start int64 // where the run begins: its first period's first byte

	last run // the latest run that ended
}

// run is a stretch of text that repeats itself.
type run struct {
	start, end int64
	lag        int
}

func (l *loop) reset() { l.n, l.base, l.lag, l.start, l.last = 0, 0, 0, 0, run{} }

func (l *loop) read(p []byte) {
	for len(p) > 0 {
		if l.n == len(l.buf) {
			copy(l.buf[:window], l.buf[window:])
			l.n, l.base = window, l.base+window
		}
		room := often - l.n&(often-1) // a multiple of it is the buffer's length
		k := copy(l.buf[l.n:l.n+room], p)
		l.n, p = l.n+k, p[k:]
		if l.lag != 0 {
			l.follow(l.n - k)
		}
		if l.lag == 0 && l.n&(often-1) == 0 {
			l.probe()
		}
	}
}

// follow compares what is new, from index i on, with what was there a period ago.
func (l *loop) follow(i int) {
	now, then := l.buf[i:l.n], l.buf[i-l.lag:l.n-l.lag]
	for k := range now {
		if now[k] != then[k] {
			l.last = run{l.start, l.base + int64(i+k), l.lag}
			l.lag = 0
			return
		}
	}
}

// probe looks for a period that the latest bytes have. The shortest ones are
// tried first, and of the longer ones not all.
func (l *loop) probe() {
	if l.n < needle+1 {
		return
	}
	end := l.n - needle
	far := short
	if l.n&(window-1) == 0 {
		far = window - needle
	}
	near := l.n - 1
	for lo := 64; near >= needle; lo *= 4 {
		from := max(end-min(lo, far), 0)
		if l.search(from, near) || from == 0 || lo >= far {
			return
		}
		near = from + needle - 1
	}
}

// maxTries bounds how many periods are tried between two distances.
const maxTries = 6

// search tries the periods by which the latest bytes stand within a part of
// the buffer.
func (l *loop) search(from, to int) bool {
	end := l.n - needle
	for range maxTries {
		i := bytes.Index(l.buf[from:to], l.buf[end:l.n])
		if i < 0 {
			return false
		}
		if l.check(end - from - i) {
			return true
		}
		from += i + 1
	}
	return false
}

// check begins a run if the text repeats itself for at least a whole period.
func (l *loop) check(lag int) bool {
	i := l.n - 1
	for i >= lag && l.buf[i] == l.buf[i-lag] {
		i--
	}
	if same := l.n - 1 - i; same < max(lag, needle) {
		return false
	}
	l.lag, l.start = lag, l.base+int64(i+1-lag)
	return true
}

// finish says whether the text ends with a loop, or had one near its end, and
// what is repeated.
func (l *loop) finish() (f Finding, piece []byte, ok bool) {
	end := l.base + int64(l.n)
	if l.lag == 0 && l.n&(often-1) != 0 { // read has looked there else
		l.probe()
	}
	r := l.last
	if l.lag > 0 {
		r = run{l.start, end, l.lag}
	}
	if r.lag == 0 || r.end-r.start < minTrack {
		return f, nil, false
	}
	i := int(r.end - l.base)
	size := int(min(r.end-max(r.start, l.base), 2*window))
	if i < 2*needle || size < needle {
		return f, nil, false
	}
	piece = l.buf[max(0, i-size):i]
	p := period(piece, r.lag)
	piece = piece[len(piece)-p:]
	f = Finding{Kind: Loop, Start: r.start + int64(p), End: r.end, Period: p, Count: int((r.end - r.start) / int64(p)), AtEnd: end-r.end <= slack}
	m := kindOf(piece)
	f.lines = bytes.IndexByte(piece, '\n') >= 0
	f.Proof, f.ProofIfCut = convicts(f, r.end-r.start, m)
	f.Proof = f.Proof && !l.framed(r, i, m)
	return f, piece, true
}

// framed reports whether what stands around a run that ends at index i tells
// that somebody drew it: the fence of a block behind words, words behind
// space, the beginning of a line in front of a ruler.
func (l *loop) framed(r run, i int, m motif) bool {
	const ruler = 160
	switch rest := l.buf[i:l.n]; m {
	case shout:
		before := int(r.start-l.base) - 1
		return r.end-r.start < ruler && before >= 0 && l.buf[before] == '\n'
	case space:
		return partsOf(rest).words > 0 || bytes.IndexByte(rest, '`') >= 0
	default:
		return bytes.IndexByte(rest, '`') >= 0
	}
}

// period returns the shortest period of a text that has the given one.
func period(b []byte, lag int) int {
	b = b[len(b)-min(len(b), 2*lag):]
	var border [2 * window]uint16 // of each beginning of b, the longest end that it begins with
	k := 0
	for i := 1; i < len(b); i++ {
		for k > 0 && b[i] != b[k] {
			k = int(border[k-1])
		}
		if b[i] == b[k] {
			k++
		}
		border[i] = uint16(k)
	}
	return min(len(b)-k, lag)
}

// motif is what a loop is made of.
type motif uint8

const (
	data      motif = iota // digits, punctuation, one word with punctuation: tables and rulers look so
	space                  // nothing but space
	shout                  // one character that no table is made of
	glued                  // one word, with nothing around it
	echo                   // one word, with nothing but space around it
	lines                  // words with brackets and the like: code
	prose                  // words
	sentences              // words with stops
)

// parts counts what a period is made of, in bytes but for the words.
type parts struct {
	words, letters, digits, blanks, stops, code int

	wide  int    // letters beyond ASCII
	ascii uint32 // which letters of ASCII occur
}

func partsOf(p []byte) (n parts) {
	in := false
	for i := 0; i < len(p); i++ {
		b, word := p[i], false
		switch {
		case isLetter(b):
			n.ascii |= 1 << (b & 31)
			n.letters++
			word = true
		case b >= 0xF0: // emoji
			n.code++
			i += 3
		case b == 0xE2 && i+1 < len(p) && p[i+1] != 0x80: // arrows, lines and blocks
			n.code++
			i += 2
		case isStop(p[i:]):
			n.stops++
			i += 2
		case b >= 0x80:
			n.letters++
			n.wide++
			word = true
		case b >= '0' && b <= '9':
			n.digits++
		case b == ' ' || b == '\n' || b == '\t' || b == '\r':
			n.blanks++
		case bytes.IndexByte([]byte(".,;:!?'-_"), b) >= 0:
			n.stops++
		default:
			n.code++
		}
		if word && !in {
			n.words++
		}
		in = word || b >= '0' && b <= '9'
	}
	return n
}

// isStop reports whether p begins with a quote, a dash or a stop beyond ASCII.
func isStop(p []byte) bool {
	return len(p) > 1 && (p[0] == 0xE2 && p[1] == 0x80 || p[0] == 0xE3 && p[1] == 0x80 || p[0] == 0xEF && p[1] == 0xBC)
}

// kindOf tells what a period is made of.
func kindOf(p []byte) motif {
	const phrase = 12 // bytes of a phrase that has no blanks
	n := partsOf(p)
	pure := n.code == 0 && n.letters >= 4*n.digits
	switch {
	case n.blanks == len(p):
		return space
	case len(p) == 1 && (p[0] == '!' || p[0] == '?'):
		return shout
	case pure && (n.words >= 3 && n.blanks >= 2 && n.letters >= 2*n.words || n.wide >= phrase) && !listed(p):
		if n.stops > 0 {
			return sentences
		}
		return prose
	case pure && n.words == 1 && n.stops+n.digits == 0 && n.letters >= 3 && !sameLetter(n, p):
		if n.blanks > 0 || n.ascii == 0 {
			return echo
		}
		return glued
	case n.words >= 2 && n.letters >= 3*n.words:
		return lines
	}
	return data
}

// sameLetter reports whether a period has one letter only: people laugh so.
func sameLetter(n parts, p []byte) bool {
	if n.ascii != 0 {
		return n.wide == 0 && n.ascii&(n.ascii-1) == 0
	}
	return n.letters == len(p) && len(p) <= utf8.UTFMax
}

// listed reports whether a period is lines of a list or of names and values.
func listed(p []byte) bool {
	if bytes.IndexByte(p, '\n') < 0 {
		return false
	}
	for i := range p {
		switch p[i] {
		case ':':
			if next := p[(i+1)%len(p)]; next == ' ' || next == '\n' {
				return true
			}
		case '-', '_':
			if before := p[(i+len(p)-1)%len(p)]; before == ' ' || before == '\n' {
				return true
			}
		}
	}
	return false
}

// convicts says whether a loop at the end of a text is proof, and whether it
// is if the text was cut off. Songs, templates and filler say the same lines
// a few times and end by themselves.
func convicts(f Finding, size int64, m motif) (proof, ifCut bool) {
	if !f.AtEnd {
		return false, false
	}
	switch m {
	case shout:
		return size >= 48, size >= 32
	case space:
		return size >= 768 || size >= 256 && f.Period <= 2 && f.lines, size >= 128
	case echo:
		if f.lines {
			return false, size >= 256 && f.Count >= 48
		}
		return size >= 256 && f.Count >= 64, size >= 64 && f.Count >= 12
	case glued:
		return false, size >= 128 && f.Count >= 16
	case prose, sentences:
		switch {
		case f.lines:
			return size >= 4096 && f.Count >= 64, size >= 1024 && f.Count >= 16
		case m == sentences:
			return size >= 1024 && f.Count >= 32, size >= 192 && f.Count >= 5
		}
		return size >= 512 && f.Count >= 32, size >= 128 && f.Count >= 4
	case lines:
		return false, size >= 512 && f.Count >= 24
	}
	return false, size >= 1536 && f.Count >= 64
}
