package validate

import "bytes"

// Canary begins a word that a harness plants in one session alone. At least
// twelve letters and digits follow, so that nobody makes it up.
const Canary = "twcanary-"

// Distinctive words are this many letters, digits, dashes and underscores, and
// this many digits among them: identifiers, hashes, numbers of orders.
const (
	minWord   = 8
	maxWord   = 64
	minDigits = 3
	maxWords  = 16 << 10 // remembered of a request
	maxAlien  = 64       // remembered of an answer
	maxSeek   = 4 << 20  // bytes searched for where they stand
)

// inWord says what words are made of; 2 is a digit.
var inWord = newInWord()

func newInWord() (t [256]uint8) {
	for b := range t {
		switch {
		case b >= '0' && b <= '9':
			t[b] = 2
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b == '-', b == '_':
			t[b] = 1
		}
	}
	return t
}

// word is a word as it is read. Only its hash is kept.
type word struct {
	hash   uint64 // FNV-1a
	n      int
	digits int
	canary int // bytes at its front that are those of Canary
}

// add adds a byte that words are made of.
func (w *word) add(b, class byte) {
	const offset, prime = 14695981039346656037, 1099511628211
	if w.n == 0 {
		w.hash = offset
	}
	w.hash = (w.hash ^ uint64(b)) * prime
	if w.canary == w.n && w.n < len(Canary) && b == Canary[w.n] {
		w.canary++
	}
	w.n++
	w.digits += int(class >> 1)
}

// planted reports whether the word is a canary.
func (w *word) planted() bool {
	return w.canary == len(Canary) && w.n >= len(Canary)+12 && w.n <= maxWord
}

// distinctive reports whether hardly anybody says the word by chance.
func (w *word) distinctive() bool {
	return w.n >= minWord && w.n <= maxWord && (w.digits >= minDigits || w.canary == len(Canary))
}

// Stranger is a distinctive word of an answer that its request does not hold:
// by its hash it may be looked for in other requests. Hashes are the same in
// every process.
type Stranger struct {
	Hash   uint64
	Choice int
	Call   *int // index of the call in its choice; nil when not in a call
	Offset int64
}

// strangers notes the words of a text that its request does not hold, as far as
// looking for each of them, at a cost in bytes, can be afforded.
func (c *Checker) strangers(ch *choice, call *int, all []alien, cost int, find func(int64) int64) {
	for _, a := range all {
		if c.seek += cost; len(c.alien) == maxAlien || c.seek > maxSeek {
			return
		}
		c.alien = append(c.alien, Stranger{a.hash, ch.index, call, find(a.at)})
	}
}

// Words yields the hashes of the distinctive words that the request holds.
func (r *Request) Words(yield func(uint64) bool) {
	if r.prompt != nil {
		r.prompt.words.all(yield)
	}
}

// learn adds the distinctive words of a text. It looks for their digits, which
// most text has few of, and for canaries, which may have none, and reads
// around those.
func (s *lexicon) learn(p []byte) {
	for i := 0; i < len(p) && !s.full(); {
		for i < len(p) && inWord[p[i]] != 2 {
			i++
		}
		i = s.keep(p, i)
	}
	for {
		i := bytes.Index(p, []byte(Canary))
		if i < 0 {
			return
		}
		p = p[s.keep(p, i):]
	}
}

// keep adds the word around byte i of p, if it is distinctive, and returns
// where it ends.
func (s *lexicon) keep(p []byte, i int) (end int) {
	for end = i; end < len(p) && inWord[p[end]] != 0; end++ {
	}
	for i > 0 && i <= len(p) && inWord[p[i-1]] != 0 {
		i--
	}
	if n := end - i; n < minWord || n > maxWord || s.full() {
		return end
	}
	var w word
	for _, b := range p[i:end] {
		w.add(b, inWord[b])
	}
	if w.distinctive() {
		s.add(w.hash)
	}
	return end
}

// alien is a distinctive word, and the byte of the text that it begins at.
type alien struct {
	hash uint64
	at   int64
}

// aliens reads a text for distinctive words that the request does not hold.
type aliens struct {
	known  *lexicon
	word   word
	at     int64 // offset of the next byte
	found  []alien
	canary int64 // where a canary of another session begins, -1 if there is none
}

func (a *aliens) reset(known *lexicon) { *a = aliens{known: known, canary: -1} }

// read reads the next piece, which may have digits or not. Words within it that
// cannot be distinctive are passed over: most text has few digits.
func (a *aliens) read(p []byte, digits bool) {
	front := 0
	if a.word.n > 0 {
		for front < len(p) && inWord[p[front]] != 0 {
			front++
		}
	}
	back := len(p)
	for back > front && inWord[p[back-1]] != 0 {
		back--
	}
	mid := p[front:back]
	a.each(p[:front])
	switch {
	case plants(mid):
		a.each(mid)
	case digits:
		a.digits(mid)
	default:
		a.skip(len(mid))
	}
	a.each(p[back:])
}

// plants reports whether a canary begins in p. The end of the name is looked for,
// a dash, which most text has less of than of the letter in front.
func plants(p []byte) bool {
	for at := 0; ; {
		i := bytes.IndexByte(p[at:], '-')
		if i < 0 {
			return false
		}
		if at += i + 1; bytes.HasSuffix(p[:at], []byte(Canary)) {
			return true
		}
	}
}

// digits reads whole words, of which only those with digits can be distinctive.
func (a *aliens) digits(p []byte) {
	done := 0
	for i := 0; i < len(p); i++ {
		if inWord[p[i]] != 2 {
			continue
		}
		from := i
		for from > done && inWord[p[from-1]] != 0 {
			from--
		}
		for i < len(p) && inWord[p[i]] != 0 {
			i++
		}
		a.skip(from - done)
		a.each(p[from:i])
		done = i
	}
	a.skip(len(p) - done)
}

// skip passes over bytes that end the word that is open.
func (a *aliens) skip(n int) {
	if n > 0 && a.word.n > 0 {
		a.end(a.at)
	}
	a.at += int64(n)
}

// each reads byte by byte.
func (a *aliens) each(p []byte) {
	for i, b := range p {
		if class := inWord[b]; class != 0 {
			a.word.add(b, class)
		} else if a.word.n > 0 {
			a.end(a.at + int64(i))
		}
	}
	a.at += int64(len(p))
}

// end ends the word that ends in front of an offset.
func (a *aliens) end(at int64) {
	w := a.word
	a.word = word{}
	if !w.distinctive() || a.known.full() || a.known.has(w.hash) {
		return
	}
	if w.planted() && a.canary < 0 {
		a.canary = at - int64(w.n)
	}
	if len(a.found) < maxAlien {
		a.found = append(a.found, alien{w.hash, at - int64(w.n)})
	}
}

// finish ends the text.
func (a *aliens) finish() { a.end(a.at) }
