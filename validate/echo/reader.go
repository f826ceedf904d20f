package echo

import (
	"bytes"
	"iter"
)

// Token is a token of a text that may be a copy: it has a digit or is an
// address.
type Token struct {
	Text []byte
	At   int64 // byte of the text that it begins at
}

// Reader finds the tokens of a text that comes in pieces, cut anywhere. The
// zero Reader is at the beginning of a text.
type Reader struct {
	word []byte // the token that is open, unless it is too long
	long bool
	sign bool // it has a digit or an @
	at   int64
	all  []Token
	kept []byte
}

// maxTokens bounds the tokens that are found in a text.
const maxTokens = 64

// Read reads the next piece of the text. It keeps nothing of p.
func (r *Reader) Read(p []byte) {
	start := 0
	for i, b := range p {
		switch class[b] {
		case other:
			if start < i && r.sign { // else it is dropped
				r.add(p[start:i])
			}
			r.end(r.at + int64(i))
			start = i + 1
		case digit:
			r.sign = true
		case joiner:
			r.sign = r.sign || b == '@'
		}
	}
	r.add(p[start:])
	r.at += int64(len(p))
}

// Plain does what Read does, of a piece that has no digit: without an @ there is
// no token in it but at its ends.
func (r *Reader) Plain(p []byte) {
	front, back := 0, len(p)
	for front < len(p) && class[p[front]] != other {
		front++
	}
	if front == len(p) || bytes.IndexByte(p, '@') >= 0 {
		r.Read(p)
		return
	}
	for class[p[back-1]] != other {
		back--
	}
	r.Read(p[:front+1])
	r.at += int64(back - front - 1)
	r.Read(p[back:])
}

// add goes on with the open token.
func (r *Reader) add(p []byte) {
	if len(r.word)+len(p) > maxToken {
		r.long = true
	}
	if !r.long {
		r.word = append(r.word, p...)
	}
}

// end ends the open token in front of an offset.
func (r *Reader) end(at int64) {
	if r.sign && !r.long && len(r.all) < maxTokens {
		r.keep(at - int64(len(r.word)))
	}
	r.word, r.long, r.sign = r.word[:0], false, false
}

// around stands beside tokens rather than in them.
const around = "-_./:+~#"

func (r *Reader) keep(at int64) {
	t, ok := tokenIn(r.word, at)
	if !ok {
		return
	}
	from := len(r.kept)
	r.kept = append(r.kept, t.Text...)
	r.all = append(r.all, Token{r.kept[from:len(r.kept):len(r.kept)], t.At})
}

// tokenIn is the token in a word that begins at an offset and has a sign of one.
func tokenIn(word []byte, at int64) (t Token, ok bool) {
	text := bytes.TrimRight(word, around)
	n := len(text)
	text = bytes.TrimLeft(text, around)
	if v := (Value{Text: text}); !Telling(v) || shapeOf(text) == number && len(text) < minNumber {
		return t, false
	}
	return Token{text, at + int64(n-len(text))}, true
}

// Tokens yields what a Reader finds in a whole text, in the text's own bytes.
func Tokens(text []byte) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for i, found := 0, 0; i < len(text) && found < maxTokens; i++ {
			from, sign := i, false
			for ; i < len(text) && class[text[i]] != other; i++ {
				sign = sign || class[text[i]] == digit || text[i] == '@'
			}
			if !sign || i-from > maxToken {
				continue
			}
			if t, ok := tokenIn(text[from:i], int64(from)); ok {
				if found++; !yield(t) {
					return
				}
			}
		}
	}
}

// minNumber is how long a number must be that is looked for in a text: shorter
// ones are counted and computed.
const minNumber = 4

// Finish ends the text.
func (r *Reader) Finish() { r.end(r.at) }

// Renew makes it ready for another text. What it found stays.
func (r *Reader) Renew() { *r = Reader{word: r.word[:0]} }

// Tokens are those found so far, in order.
func (r *Reader) Tokens() []Token { return r.all }

// Held is how many bytes the reader keeps.
func (r *Reader) Held() int { return cap(r.word) + cap(r.kept) + 32*cap(r.all) }
