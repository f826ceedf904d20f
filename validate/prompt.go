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
// answer. No text is kept.
type prompt struct {
	rules markup.Rules
	text  text.Prompt
	words lexicon
	said  int64 // bytes of the values in the messages
}

// maxData is the length of the longest data URL that is taken for text: longer
// ones are images and the like.
const maxData = 4 << 10

// newPrompt reads every string of a request, which must be valid JSON.
// messages is the part of it that holds them.
func newPrompt(body, messages []byte) *prompt {
	p := &prompt{words: lexicon{}}
	var marks markup.Scanner
	marks.Learn(&p.rules.Seen)
	var buf []byte
	// Both are ends of one array, told apart by how much of it is left.
	begin := cap(messages)
	end := begin - len(messages)
	for body = toQuote(body); len(body) > 0; body = toQuote(body) {
		n, escaped := stringLen(body)
		raw := body[:n]
		value := cap(body) < begin && cap(body) > end && !isKey(body[min(n+1, len(body)):])
		body = body[min(n+1, len(body)):]
		if len(raw) > maxData && bytes.HasPrefix(raw, []byte("data:")) {
			continue
		}
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
	return p
}

// conditions are what the request holds, nothing if it was not read.
func (r *Request) conditions() *prompt {
	if r.prompt == nil {
		return &prompt{}
	}
	return r.prompt
}

// held is about how many bytes it keeps.
func (p *prompt) held() int {
	if p == nil {
		return 0
	}
	return int(unsafe.Sizeof(*p)) + 16*len(p.words)
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
