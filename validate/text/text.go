// Package text finds text that no model writes on purpose: loops that run to
// the end, words glued from several scripts, what byte-level tokens look like
// when they are not decoded, replacement characters, NULs. It is
// fed decoded text in pieces cut anywhere.
//
// Only what clean text does not hold is proof; the rest is reported for what
// it is worth. What the request itself holds proves nothing.
package text

import "bytes"

// Kind says what was found.
type Kind uint8

// The kinds.
const (
	Loop        Kind = iota // a piece of text again and again
	Salad                   // words of several scripts
	Bytes                   // bytes of tokens written as characters
	Replacement             // U+FFFD
	Control                 // NULs, which no text has
	kinds
)

// String is the kind's name.
func (k Kind) String() string {
	return [...]string{"loop", "salad", "bytes", "replacement", "control"}[k]
}

// Finding is one thing found.
type Finding struct {
	Kind Kind

	// Start and End are where it lies, counted in bytes over all texts that
	// the detector was given. A loop starts where the text first repeats.
	Start, End int64

	Count  int  // repetitions, words or characters
	Period int  // of a loop, in bytes
	AtEnd  bool // the text ends with it
	Proof  bool // clean text has no such thing

	// ProofIfCut says that it is proof if the text was cut off by a limit,
	// which a loop is the reason of.
	ProofIfCut bool

	lines bool // a loop repeats whole lines
}

// maxFindings is one of each kind.
const maxFindings = int(kinds)

// Prompt is what a request holds. The zero value is an empty prompt.
type Prompt struct {
	scripts     uint64
	replacement bool
	bytes       bool
	control     bool
	phrases     phrases

	r runes
}

// Write reads the next piece of the request. It returns len(p) and no error.
func (p *Prompt) Write(b []byte) (int, error) {
	p.r.read(b)
	p.phrases.learn(b)
	p.scripts |= p.r.scripts
	p.replacement = p.replacement || p.r.replacements > 0
	p.bytes = p.bytes || p.r.strange > 0 || p.r.shown || bytes.Contains(b, []byte("<0x"))
	p.control = p.control || p.r.nuls+p.r.controls > 0
	return len(b), nil
}

// Detector reads the texts of one kind of one choice or call, one after the
// other. It is made ready by Reset and keeps no reference to what it is given.
type Detector struct {
	prompt   *Prompt
	base     int64 // offset of the text
	size     int64 // of the text so far
	runes    runes
	loop     loop
	looked   int  // how often the text around a replacement character was looked at
	learned  bool // it is about characters
	findings [maxFindings]Finding
	n        int
}

// Reset makes the detector ready for the texts of an answer to this prompt.
func (d *Detector) Reset(p *Prompt) {
	d.prompt, d.n, d.base = p, 0, 0
	d.begin()
}

func (d *Detector) begin() {
	d.size, d.runes, d.looked, d.learned = 0, runes{}, 0, false
	d.runes.known = d.prompt.scripts
	d.loop.reset()
}

// Write reads the next piece of the text. It returns len(p) and no error.
func (d *Detector) Write(p []byte) (int, error) {
	size := len(p)
	for len(p) > 0 {
		k := min(len(p), block-int(d.size&(block-1)))
		d.runes.read(p[:k])
		d.loop.read(p[:k])
		d.size, p = d.size+int64(k), p[k:]
		if d.size&(block-1) == 0 {
			d.look()
			d.tokens(block)
		}
	}
	return size, nil
}

// block is how many bytes apart a text is looked at as a whole.
const block = 512

// look finds out whether the text around a replacement character, or one that
// stands for a byte, is about such characters. It is called where no cut of the text can move it.
func (d *Detector) look() {
	if d.runes.replacements+d.runes.strange == 0 || d.looked >= 4 {
		return
	}
	d.looked++
	d.learned = d.learned || learned(d.loop.buf[:d.loop.n])
}

// tokens looks for bytes that are written as tokens, <0xE4>, and end in the
// latest part of the text.
func (d *Detector) tokens(part int) {
	const size = len("<0xE4>")
	b := d.loop.buf[max(0, d.loop.n-part-size+1):d.loop.n]
	at := d.size - int64(len(b))
	for {
		i := bytes.Index(b, []byte("<0x"))
		if i < 0 {
			return
		}
		if i+size <= len(b) && isHigh(b[i+3]) && isHex(b[i+4]) && b[i+5] == '>' && besides(b, i, i+size) {
			d.runes.byteAt(at+int64(i), at+int64(i+size))
		}
		b, at = b[i+1:], at+int64(i+1)
	}
}

// besides reports whether a token stands right in front of b[i:end] or behind
// it: one byte alone is no character, and who shows tokens sets them apart.
func besides(b []byte, i, end int) bool {
	return i > 0 && b[i-1] == '>' || bytes.HasPrefix(b[end:], []byte("<0x"))
}

// isHigh reports whether b begins a byte that is not ASCII, which alone are
// tokens of their own.
func isHigh(b byte) bool { return isHex(b) && b >= '8' }

func isHex(b byte) bool { return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f' }

// learned reports whether a text is about characters and their encoding.
func learned(b []byte) bool {
	for _, w := range [...]string{"utf", "UTF", "nicode", "eplacement", "ufffd", "uFFFD", "FFFD", "rune", "\\x", "ncod", "ecod", "\\u", "ojibake", "atin-1", "atin1", "indows-125"} {
		if bytes.Contains(b, []byte(w)) {
			return true
		}
	}
	return false
}

// Next ends the text and begins another one.
func (d *Detector) Next() {
	d.Finish()
	d.base += d.size
	d.begin()
}

// Skip passes over n bytes of texts that hold nothing, between two texts.
func (d *Detector) Skip(n int) { d.base += int64(n) }

// MinLoop is how long a text is in which a loop is found, at least.
const MinLoop = minTrack

// Findings returns what was found in the texts that are finished, at most one
// of a kind: the first proof, or the first one.
func (d *Detector) Findings() []Finding { return d.findings[:d.n] }

// Scripts returns the scripts of the text that the request does not hold, as
// a set of bits.
func (d *Detector) Scripts() uint64 { return d.runes.scripts &^ d.prompt.scripts }

// Finish ends the text.
func (d *Detector) Finish() {
	if f, piece, ok := d.loop.finish(); ok {
		if (f.Proof || f.ProofIfCut) && d.prompt.phrases.hold(piece) {
			f.Proof, f.ProofIfCut = false, false
		}
		d.add(f)
	}
	d.look()
	d.tokens(int(d.size & (block - 1)))
	d.finishRunes()
}

// finishRunes judges what was counted.
func (d *Detector) finishRunes() {
	r, p := &d.runes, d.prompt
	r.finish()
	if r.mixed > 0 {
		d.add(Finding{Kind: Salad, Start: r.mixedAt, End: r.saladEnd, Count: r.mixed, Proof: r.salad})
	}
	if r.strange > 0 {
		d.add(Finding{Kind: Bytes, Start: r.bytesAt, End: r.bytesEnd, Count: r.strange, Proof: !p.bytes && !d.learned && r.dense})
	}
	if r.replacements > 0 {
		atEnd := r.replacedEnd == d.size
		d.add(Finding{Kind: Replacement, Start: r.replacedAt, End: r.replacedEnd, Count: r.replacements, AtEnd: atEnd,
			Proof: !p.replacement && !d.learned && r.bare > 0})
	}
	if r.nuls > 0 {
		d.add(Finding{Kind: Control, Start: r.nulAt, End: r.nulEnd, Count: r.nuls, Proof: !p.control && r.nuls >= minNuls})
	}
}

// add keeps a finding of the current text.
func (d *Detector) add(f Finding) {
	f.Start, f.End = f.Start+d.base, f.End+d.base
	for i := range d.findings[:d.n] {
		if g := &d.findings[i]; g.Kind == f.Kind {
			if !g.Proof && f.Proof || !g.Proof && !g.ProofIfCut && f.ProofIfCut {
				*g = f
			}
			return
		}
	}
	d.findings[d.n] = f
	d.n++
}
