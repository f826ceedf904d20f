package text

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Thresholds: how many words of several scripts, how many scripts among them
// and how close together are no accident; how long such a word may be, since
// tables of characters have no spaces, and how many Latin letters in a row it
// must have, or letters if none is Latin; how many characters that stand for bytes, and how close together;
// how many NULs, of which a model may write one for the end of a string.
const (
	minMixed   = 3
	minScripts = 3
	saladSpan  = 512
	maxWord    = 32
	minLatin   = 3
	minOther   = 5
	minBytes   = 3
	bytesSpan  = 1024
	minNuls    = 3
)

// runes counts what characters tell. Offsets are those of the text.
type runes struct {
	known uint64 // scripts of the prompt

	at   int64   // offset of the next byte
	part [4]byte // a character that was cut, and how much of it
	size int

	lower bool // the character right in front is a small letter or ends a phrase, in ASCII
	prev  rune // the character right in front
	prev2 rune // … and the one in front of it, where prev is ASCII

	word      int    // letters of the word that is open
	set       uint64 // its scripts
	latin     int    // Latin letters in a row at its end
	longest   int    // the most Latin letters in a row
	latins    int    // all of them
	amid      bool   // a blank and an ASCII letter stand in front of it
	wordStart int64

	scripts  uint64
	mixed    int // words of several scripts
	mixedAt  int64
	salad    bool
	saladEnd int64
	seen     [mark]int64     // where the last such word with each script ended
	stuck    [mark]int32     // letters of each script in such words
	free     [mark]int32     // … and in others: of a language that is written here
	recent   [minMixed]int64 // where the latest such words began
	within   [minMixed]bool  // … and whether behind a word of ASCII

	strange  int // Ġ and its like between letters, and characters that are the bytes of one
	cluster  int // how many of them stood close together
	dense    bool
	need     int // bytes of the unit that are missing
	unitAt   int64
	lead     rune
	inWord   bool  // … it stands behind a letter
	shown    bool  // such characters stood anywhere
	chain    int64 // where the latest unit ended
	bytesAt  int64
	bytesEnd int64
	barEnd   int64 // up to where a marker of DeepSeek may reach, which have ▁ in them
	pending  rune  // Ġ or its like behind a letter

	replacements int
	bare         int // those that no quotes enclose
	replacedAt   int64
	replacedEnd  int64
	quoted       bool

	nuls, controls int
	nulAt, nulEnd  int64
}

// plain are the bytes that need no look of their own: ASCII without controls.
var plain = newPlain()

func newPlain() (t [256]bool) {
	for b := range 0x80 {
		t[b] = b >= 0x20 && b != 0x7F || b == '\t' || b == '\n' || b == '\r'
	}
	return t
}

// allPlain reports whether eight bytes are plain, and no space but blanks.
func allPlain(w uint64) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	return (w|(w-ones*' ')|((w^ones*0x7F)-ones))&highs == 0
}

func (r *runes) read(p []byte) {
	if r.size > 0 {
		p = r.complete(p)
	}
	for i := 0; i < len(p); {
		if plain[p[i]] {
			i += r.ascii(p[i:])
			continue
		}
		if p[i] < 0x80 {
			r.control(rune(p[i]), 1)
			i++
			continue
		}
		if n := r.run(p[i:]); n > 0 {
			i += n
			continue
		}
		if !utf8.FullRune(p[i:]) {
			r.size = copy(r.part[:], p[i:])
			return
		}
		c, n := utf8.DecodeRune(p[i:])
		r.rune(c, n)
		i += n
	}
}

// run reads letters of one script, and none that could stand for bytes. It
// does quickly what rune does, and returns how many bytes it took.
func (r *runes) run(p []byte) int {
	at, n, s, last := 0, 0, noScript, rune(0)
	for at+2 < len(p) {
		c, size := letter(p[at : at+3])
		t := table[c>>4&0xFFF]
		if size == 0 || t <= latin || t == mark || n > 0 && t != s {
			break
		}
		at, n, s, last = at+size, n+1, t, c
	}
	if n == 0 {
		return 0
	}
	r.endQuote(last)
	if r.word == 0 {
		r.wordStart, r.amid = r.at, follows(r.prev2, r.prev)
	}
	r.scripts |= 1 << s
	r.letters(s, n)
	r.pending, r.need, r.prev, r.lower = 0, 0, last, false
	r.at += int64(at)
	return at
}

// letter decodes a character of two or three bytes from U+0340 on.
func letter(p []byte) (c rune, size int) {
	a, b, d := p[0], p[1], p[2]
	switch {
	case b&0xC0 != 0x80:
	case a >= 0xCD && a <= 0xDF:
		return rune(a&0x1F)<<6 | rune(b&0x3F), 2
	case a < 0xE0 || a > 0xEC || a == 0xE0 && b < 0xA0 || d&0xC0 != 0x80:
	default:
		return rune(a&0x0F)<<12 | rune(b&0x3F)<<6 | rune(d&0x3F), 3
	}
	return 0, 0
}

// complete reads a character that was cut, and returns what follows it.
func (r *runes) complete(p []byte) []byte {
	for r.size > 0 {
		if utf8.FullRune(r.part[:r.size]) {
			r.shift()
			continue
		}
		if len(p) == 0 {
			return nil
		}
		r.part[r.size] = p[0]
		r.size++
		p = p[1:]
	}
	return p
}

// shift reads one character of those that were kept.
func (r *runes) shift() {
	c, n := utf8.DecodeRune(r.part[:r.size])
	switch {
	case plain[r.part[0]]:
		r.ascii(r.part[:1])
	case c < 0x80:
		r.control(c, 1)
	default:
		r.rune(c, n)
	}
	r.size = copy(r.part[:], r.part[n:r.size])
}

// ascii reads a run of plain bytes and returns its length.
func (r *runes) ascii(p []byte) int {
	n := 1
	for n < len(p) {
		if len(p)-n >= 8 && allPlain(binary.LittleEndian.Uint64(p[n:])) {
			n += 8
			continue
		}
		if !plain[p[n]] {
			break
		}
		n++
	}
	p = p[:n]
	r.first(p[0])
	front := 0
	if r.word > 0 {
		for front < n && isLetter(p[front]) {
			front++
		}
		r.letters(latin, front)
		switch {
		case front == n:
		case r.set == 1<<latin: // an ordinary word
			r.word, r.set, r.latin, r.longest, r.latins = 0, 0, 0, 0, 0
		default:
			r.endWord(r.at + int64(front))
		}
	}
	back := n
	for back > front && isLetter(p[back-1]) {
		back--
	}
	if before := r.before(p, back); back < n && (before == '\\' || before == '%') {
		back++
	}
	if back > front || r.word == 0 {
		r.wordStart, r.amid = r.at+int64(back), follows(r.before(p, back-1), r.before(p, back))
		r.letters(latin, n-back)
	}
	r.at += int64(n)
	r.prev2, r.prev = r.before(p, n-1), rune(p[n-1])
	r.lower = r.prev >= 'a' && r.prev <= 'z' || r.prev == '.' || r.prev == ','
	return n
}

// before is the byte in front of p[i], where i may be -1.
func (r *runes) before(p []byte, i int) rune {
	switch i {
	case -1:
		return r.prev2
	case 0:
		return r.prev
	}
	return rune(p[i-1])
}

// follows reports whether a word behind these two follows one of ASCII.
func follows(a, b rune) bool { return b == ' ' && a < 0x80 && isLetter(byte(a)) }

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// first looks at the ASCII byte behind another character.
func (r *runes) first(b byte) {
	if r.pending != 0 && isLetter(b) {
		r.byteAt(r.at, r.at)
	}
	r.pending, r.need = 0, 0
	r.endQuote(rune(b))
}

// letters adds letters of one script to the word.
func (r *runes) letters(s script, n int) {
	if n == 0 {
		return
	}
	r.word += n
	r.set |= 1 << s
	if s != latin {
		r.latin = 0
		return
	}
	r.latin += n
	r.latins += n
	r.longest = max(r.longest, r.latin)
}

// endWord ends the word that is open, at offset end.
func (r *runes) endWord(end int64) {
	set, n, longest, others := r.set, r.word, r.longest, int32(r.word-r.latins)
	r.set, r.word, r.latin, r.longest, r.latins = 0, 0, 0, 0, 0
	foreign := set &^ (1<<latin | r.known)
	if foreign == 0 {
		return
	}
	mixed := set&(set-1) != 0 && n <= maxWord && (set&(1<<latin) == 0 && n >= minOther || longest >= minLatin)
	for rest := foreign; rest != 0; rest &= rest - 1 {
		s := bits.TrailingZeros64(rest)
		if !mixed {
			r.free[s] += others
			continue
		}
		r.stuck[s] += others
		r.seen[s] = end
	}
	if mixed {
		r.mix(end)
	}
}

// mix notes a word of several scripts. They are salad in the midst of others;
// texts in several languages have them at the beginnings of their lines.
func (r *runes) mix(end int64) {
	if r.mixed == 0 {
		r.mixedAt = r.wordStart
	}
	r.recent[r.mixed%minMixed], r.within[r.mixed%minMixed] = r.wordStart, r.amid
	r.mixed++
	if r.salad {
		return
	}
	r.saladEnd = end
	if first := r.recent[r.mixed%minMixed]; r.mixed >= minMixed && end-first < saladSpan && r.within != [minMixed]bool{} && r.around(end) >= minScripts {
		r.salad, r.mixedAt = true, first
	}
}

// around counts the scripts of the words of several scripts that ended not
// far back, but for those of which other words have more.
func (r *runes) around(end int64) (n int) {
	for s, at := range r.seen {
		if at > 0 && end-at < saladSpan && r.stuck[s] >= r.free[s] {
			n++
		}
	}
	return n
}

// rune reads a character that is not ASCII.
func (r *runes) rune(c rune, n int) {
	s := scriptOf(c)
	r.endQuote(c)
	r.bytes(c, n)
	switch {
	case s == mark:
	case s == noScript:
		r.endWord(r.at)
	default:
		if r.word == 0 {
			r.wordStart, r.amid = r.at, follows(r.prev2, r.prev)
		}
		r.scripts |= 1 << s
		r.letters(s, 1)
	}
	switch {
	case c == utf8.RuneError:
		r.replaced(n)
	case c < 0xA0 || c >= 0xFDD0 && c <= 0xFDEF || c&0xFFFE == 0xFFFE:
		r.control(c, n)
		return
	}
	r.prev, r.lower = c, false
	r.at += int64(n)
}

// control notes a character that steers.
func (r *runes) control(c rune, n int) {
	if c != 0 {
		r.controls++
	} else {
		if r.nuls == 0 {
			r.nulAt = r.at
		}
		r.nuls++
		r.nulEnd = r.at + 1
	}
	r.at += int64(n)
	r.endWord(r.at)
	r.prev, r.lower = c, false
}

// byteAt notes characters that stand for bytes, from start to end.
func (r *runes) byteAt(start, end int64) {
	switch {
	case r.strange == 0:
		r.bytesAt = start
	case !r.dense && start-r.bytesEnd > bytesSpan:
		r.bytesAt, r.cluster = start, 0
	}
	r.strange++
	r.cluster++
	r.dense = r.dense || r.cluster >= minBytes
	r.bytesEnd = end
}

// bytes looks for what bytes of tokens look like.
func (r *runes) bytes(c rune, n int) {
	r.pending = 0
	switch {
	case c == '｜':
		r.barEnd = r.at + maxWord
	case (c == 'Ġ' || c == 'Ċ') && r.lower, c == '▁' && (r.lower || r.latin > 0) && r.at > r.barEnd:
		r.pending = c
	}
	if r.need > 0 {
		if !isByte(c) {
			r.need = 0
		} else if r.need--; r.need == 0 {
			r.unit(c, n)
			return
		}
	}
	switch {
	case c >= 0xC2 && c <= 0xDF:
		r.need = 1
	case c >= 0xE0 && c <= 0xEF:
		r.need = 2
	case c >= 0xF0 && c <= 0xF4:
		r.need = 3
	default:
		return
	}
	r.lead, r.unitAt, r.inWord = c, r.at, r.word > 0
}

// unit notes characters that together are the bytes of one, if they follow
// other ones or are what no word has. Who shows them sets them apart.
func (r *runes) unit(c rune, n int) {
	end := r.at + int64(n)
	chained := r.chain == r.unitAt && r.chain > 0
	r.chain = end
	odd := (r.lead == 'Ã' || r.lead == 'Â') && c >= 0x80 && c <= 0xBF
	r.shown = r.shown || odd
	if !chained && !(odd && r.inWord) {
		return
	}
	r.byteAt(r.unitAt, end)
}

// isByte reports whether a character stands for a byte that continues another
// one, in Latin-1, in its usual extension or as byte-level tokens are written.
func isByte(c rune) bool {
	switch {
	case c >= 0x80 && c <= 0xBF, c >= 0x122 && c <= 0x143:
		return true
	case c < 0x152 || c > 0x2122:
		return false
	}
	switch c {
	case 0x20AC, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039, 0x152, 0x17D, 0x2018, 0x2019,
		0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122, 0x161, 0x203A, 0x153, 0x17E, 0x178:
		return true
	}
	return false
}

// replaced notes a replacement character.
func (r *runes) replaced(n int) {
	if r.replacements == 0 {
		r.replacedAt = r.at
	}
	r.replacements++
	r.replacedEnd = r.at + int64(n)
	r.quoted = r.prev == '"' || r.prev == '\'' || r.prev == '`' || r.prev == '('
	if !r.quoted {
		r.bare++
	}
}

// endQuote looks at the character behind a replacement character.
func (r *runes) endQuote(c rune) {
	if r.quoted && r.prev == utf8.RuneError && c != '"' && c != '\'' && c != '`' && c != ')' {
		r.bare++
	}
	r.quoted = false
}

// finish ends the text.
func (r *runes) finish() {
	for r.size > 0 {
		r.shift()
	}
	r.endQuote(0)
	r.endWord(r.at)
}
