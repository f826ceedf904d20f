package text

// phrases is which runs of three words a request holds, as a filter of their
// hashes: a loop of what was asked for is no fault. Of a single word only one
// in quotes, in front of a number or called a word counts.
type phrases struct {
	bits   [phraseBits / 64]uint64
	last   [2]uint32 // hashes of the latest words, the last one first
	word   uint32    // hash of the word that is open, 0 if none is
	quoted bool      // it began behind a quote
	prev   byte
}

// phraseBits is the size of the filter, a power of two.
const phraseBits = 1 << 15

func (h *phrases) add(x uint32)      { h.bits[x%phraseBits/64] |= 1 << (x % 64) }
func (h *phrases) has(x uint32) bool { return h.bits[x%phraseBits/64]>>(x%64)&1 != 0 }

// wordBytes tells how a byte of a word is hashed, 0 for what parts words.
var wordBytes = newWordBytes()

func newWordBytes() (t [256]byte) {
	for b := range t {
		switch c := byte(b); {
		case c >= 'A' && c <= 'Z':
			t[b] = c + 'a' - 'A'
		case isLetter(c), c >= '0' && c <= '9', c >= 0x80:
			t[b] = c
		}
	}
	return t
}

// learn reads the words of a text of the request.
func (h *phrases) learn(p []byte) {
	for _, b := range p {
		if c := wordBytes[b]; c != 0 {
			if h.word == 0 {
				h.word, h.quoted = 2166136261, h.prev == '"' || h.prev == '\'' || h.prev == '`'
			}
			h.word = (h.word ^ uint32(c)) * 16777619
		} else if h.word != 0 {
			h.end()
		}
		h.prev = b
	}
}

func (h *phrases) end() {
	w := h.word
	h.word = 0
	switch {
	case h.quoted, h.last[0] == wordWord:
		h.add(spread(w, 0, 0))
	case h.prev >= '0' && h.prev <= '9': // hello 100 times
		h.add(spread(h.last[0], 0, 0))
	}
	h.add(spread(w, h.last[0], h.last[1]))
	h.last[0], h.last[1] = w, h.last[0]
}

// wordWord is the hash of "word".
var wordWord = hashed("word")

func hashed(word string) uint32 {
	h := uint32(2166136261)
	for _, b := range []byte(word) {
		h = (h ^ uint32(b)) * 16777619
	}
	return h
}

// spread hashes three words into one number.
func spread(a, b, c uint32) uint32 {
	x := a*0x9E3779B1 ^ b*0x85EBCA77 ^ c*0xC2B2AE3D
	x ^= x >> 15
	return x * 0x2C1B3C6D >> 3
}

// maxWords bounds how many words of a period are looked up.
const maxWords = 64

// hold reports whether the request holds what is repeated: all runs of three
// words but for those that lead from the end of it to its beginning.
func (h *phrases) hold(period []byte) bool {
	var words [maxWords]uint32
	n, word := 0, uint32(0)
	for i := 0; i <= len(period) && n < maxWords; i++ {
		if i < len(period) && wordBytes[period[i]] != 0 {
			if word == 0 {
				word = 2166136261
			}
			word = (word ^ uint32(wordBytes[period[i]])) * 16777619
		} else if word != 0 {
			words[n] = word
			n, word = n+1, 0
		}
	}
	switch n {
	case 0:
		return false
	case 1:
		return h.has(spread(words[0], 0, 0))
	case 2:
		return false
	}
	found := 0
	for i := range n {
		if h.has(spread(words[(i+2)%n], words[(i+1)%n], words[i])) {
			found++
		}
	}
	return found > 0 && found >= n-2
}
