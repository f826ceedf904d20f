package text

import "bytes"

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
		room := min(len(l.buf)-l.n, often-l.n%often)
		k := copy(l.buf[l.n:l.n+room], p)
		l.n, p = l.n+k, p[k:]
		l.follow(l.n - k)
		if l.lag == 0 && l.n%often == 0 {
			l.probe()
		}
	}
}

// follow compares what is new, from index i on, with what was there a period ago.
func (l *loop) follow(i int) {
	if l.lag == 0 {
		return
	}
	now, then := l.buf[i:l.n], l.buf[i-l.lag:l.n-l.lag]
	for k := range now {
		if now[k] != then[k] {
			l.last = run{l.start, l.base + int64(i+k), l.lag}
			l.lag = 0
			return
		}
	}
}

// probe looks for a period that the latest bytes have.
func (l *loop) probe() {
	if l.n < needle+1 {
		return
	}
	end := l.n - needle
	what := l.buf[end:l.n]
	far := short
	if l.n%window == 0 {
		far = window - needle
	}
	for near, lo := l.n-1, 64; ; lo *= 4 {
		lo = min(lo, far)
		from := max(end-lo, 0)
		if i := bytes.Index(l.buf[from:near], what); i >= 0 {
			l.check(end - from - i)
			return
		}
		if from == 0 || lo == far {
			return
		}
		near = from + needle - 1
	}
}

// check begins a run if the text repeats itself for at least a whole period.
func (l *loop) check(lag int) {
	i := l.n - 1
	for i >= lag && l.buf[i] == l.buf[i-lag] {
		i--
	}
	if same := l.n - 1 - i; same < max(lag, needle) {
		return
	}
	l.lag, l.start = lag, l.base+int64(i+1-lag)
	if i < lag && l.last.lag != 0 && l.last.end >= l.base {
		l.start = max(l.start, l.last.end-int64(lag))
	}
}

// finish says whether the text ends with a loop.
func (l *loop) finish() (f Finding, ok bool) {
	end := l.base + int64(l.n)
	if l.lag == 0 {
		l.probe()
	}
	r := l.last
	if l.lag > 0 {
		r = run{l.start, end, l.lag}
	}
	if r.lag == 0 || r.end-r.start < minTrack {
		return f, false
	}
	i := int(r.end - l.base)
	size := int(min(r.end-max(r.start, l.base), 2*window))
	if i < 2*needle || size < needle {
		return f, false
	}
	piece := l.buf[max(0, i-size):i]
	p := period(piece, r.lag)
	f = Finding{Kind: Loop, Start: r.start + int64(p), End: r.end, Period: p, Count: int((r.end - r.start) / int64(p)), AtEnd: end-r.end <= slack}
	f.Proof, f.ProofIfCut = convicts(f, r.end-r.start, kindOf(piece[len(piece)-p:]))
	return f, true
}

// period returns the shortest period of a text that has the given one.
func period(b []byte, lag int) int {
	for p := 1; p < lag; p++ {
		if b[p] == b[0] && bytes.Equal(b[p:], b[:len(b)-p]) {
			return p
		}
	}
	return lag
}

// motif is what a loop is made of.
type motif uint8

const (
	data  motif = iota // digits, punctuation, one word with punctuation: tables and rulers look so
	space              // nothing but space
	shout              // one character that no table is made of
	lines              // words with brackets and the like: code
	prose              // words
)

// kindOf tells what a period is made of.
func kindOf(p []byte) motif {
	words, letters, digits, blanks, code := 0, 0, 0, 0, 0
	in := false
	for _, b := range p {
		letter, digit := isLetter(b) || b >= 0x80, b >= '0' && b <= '9'
		switch {
		case letter:
			letters++
			if !in {
				words++
			}
		case digit:
			digits++
		case b == ' ' || b == '\n' || b == '\t' || b == '\r':
			blanks++
		case bytes.IndexByte([]byte(".,;:!?'-_"), b) < 0:
			code++
		}
		in = letter || digit
	}
	switch {
	case blanks == len(p):
		return space
	case len(p) == 1 && (p[0] == '!' || p[0] == '?'):
		return shout
	case code == 0 && words >= 3 && letters >= 3*words && letters >= 4*digits:
		return prose
	case words >= 2 && letters >= 3*words:
		return lines
	}
	return data
}

// convicts says whether a loop at the end of a text is proof, and whether it
// is if the text was cut off.
func convicts(f Finding, size int64, m motif) (proof, ifCut bool) {
	if !f.AtEnd {
		return false, false
	}
	switch m {
	case shout:
		return size >= 64, size >= 64
	case space:
		return size >= 1024, size >= 256
	case prose:
		return size >= 512 && f.Count >= 8, size >= 256 && f.Count >= 4
	case lines:
		return false, size >= 512 && f.Count >= 8
	}
	return false, size >= 1024 && f.Count >= 16
}
