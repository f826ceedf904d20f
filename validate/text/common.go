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
	pieces, hits, word := 0, 0, d.loop.buf[:0]
	for i, b := range d.loop.buf[:d.loop.n] {
		if isLetter(b) || b >= 0x80 {
			word = d.loop.buf[i-len(word) : i+1]
			continue
		}
		pieces, hits, word = pieces+(len(word)+2)/3, hits+common(word), word[:0]
	}
	return pieces+(len(word)+2)/3 <= often*(hits+common(word))
}

// common is 1 for one of the words.
func common(word []byte) int {
	switch string(word) {
	case "the", "of", "and", "to", "is", "it", "you", "that", "for", "this", "with", "will", "have", "are", "not", "from", "your", "at", "be", "on", "in", "The", "You", "This", "It":
		return 1
	}
	return 0
}
