package text

// Common reports whether the text is short enough to be remembered and made of
// the words that English has most of. Tokenizers know those best: of other
// languages, of code and of letters in no order a text takes more tokens, up to
// two for each three letters. It is asked before Next and behind Finish.
func (d *Detector) Common() bool {
	const often = 12 // one of these for so many pieces of three letters
	if d.loop.base > 0 {
		return false
	}
	pieces, hits, text := 0, 0, d.loop.buf[:d.loop.n]
	for i := 0; i < len(text); i++ {
		if rest := (len(text) - i + 1) / 2; pieces+rest <= often*hits { // no more pieces than words of one letter
			return true
		}
		from := i
		for i < len(text) && inWord[text[i]] {
			i++
		}
		pieces, hits = pieces+(i-from+2)/3, hits+common(text[from:i])
	}
	return pieces <= often*hits
}

// inWord are the bytes of words.
var inWord = newInWord()

func newInWord() (t [256]bool) {
	for b := range t {
		t[b] = isLetter(byte(b)) || b >= 0x80
	}
	return t
}

// common is 1 for one of the words.
func common(word []byte) int {
	if len(word) < 2 || len(word) > 4 {
		return 0
	}
	switch string(word) {
	case "the", "of", "and", "to", "is", "it", "you", "that", "for", "this", "with", "will", "have", "are", "not", "from", "your", "at", "be", "on", "in", "The", "You", "This", "It":
		return 1
	}
	return 0
}
