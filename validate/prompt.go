package validate

import (
	"bytes"
	"slices"
	"unsafe"

	"turnwatch/validate/markup"
	"turnwatch/validate/text"
	"turnwatch/validate/wire"
)

// prompt is what the texts of a request hold, and so proves nothing in its
// answer. No text is kept. What it points to may be shared by many requests.
type prompt struct {
	rules markup.Rules
	text  *text.Prompt
	words *lexicon
	said  int64 // bytes of the values in the messages
}

func newPrompt() *prompt { return &prompt{text: new(text.Prompt), words: new(lexicon)} }

// grow returns a copy that may be read into.
func (p *prompt) grow() *prompt {
	text, words := *p.text, p.words.clone()
	return &prompt{rules: p.rules, text: &text, words: words, said: p.said}
}

// maxData is the length of the longest data URL that is taken for text: longer
// ones are images and the like.
const maxData = 4 << 10

// read reads every string of a part of a request, which must be JSON and cut
// between its strings.
func (p *prompt) read(part []byte, messages bool) {
	var marks markup.Scanner
	marks.Learn(&p.rules.Seen)
	var buf []byte
	for part = toQuote(part); len(part) > 0; part = toQuote(part) {
		n, escaped := stringLen(part)
		raw := part[:n]
		part = part[min(n+1, len(part)):]
		if len(raw) > maxData && bytes.HasPrefix(raw, []byte("data:")) {
			continue
		}
		value := messages && !isKey(part)
		if escaped {
			buf = slices.Grow(buf[:0], len(raw))
			var j wire.Joiner
			buf = j.Append(buf[:0], wire.Text{Raw: raw, Escaped: true})
			raw = buf
		}
		p.text.Write(raw)
		p.text.Write([]byte{'\n'})
		p.words.learn(raw)
		if value {
			p.said += int64(len(raw))
		}
		marks.Write(raw)
		marks.Next(markup.Content)
	}
	marks.Finish()
}

// conditions are what the request holds, nothing if it was not read.
func (r *Request) conditions() *prompt {
	if r.prompt == nil {
		return newPrompt()
	}
	return r.prompt
}

// held is about how many bytes it keeps.
func (p *prompt) held() int {
	if p == nil {
		return 0
	}
	return int(unsafe.Sizeof(*p)+unsafe.Sizeof(*p.text)) + p.words.held()
}

// isKey reports whether a string is a key, by what follows it.
func isKey(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// toQuote returns what follows the next quote.
func toQuote(b []byte) []byte {
	if i := bytes.IndexByte(b, '"'); i >= 0 {
		return b[i+1:]
	}
	return nil
}

// stringLen is how many bytes stand in front of the quote that ends the string
// at the front of b, and whether escapes are among them.
func stringLen(b []byte) (n int, escaped bool) {
	for n < len(b) {
		i := bytes.IndexByte(b[n:], '"')
		if i < 0 {
			return len(b), escaped
		}
		n += i
		if !escaped && bytes.IndexByte(b[:n], '\\') < 0 {
			return n, false
		}
		escaped = true
		if odd(b[:n]) {
			n++
			continue
		}
		return n, true
	}
	return n, escaped
}

// odd reports whether b ends with an odd number of backslashes.
func odd(b []byte) bool {
	rest := bytes.TrimRight(b, `\`)
	return (len(b)-len(rest))%2 == 1
}
