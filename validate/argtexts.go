package validate

import (
	"bytes"

	"turnwatch/validate/jsonstream"
	"turnwatch/validate/markup"
	"turnwatch/validate/text"
	"turnwatch/validate/wire"
)

// readArgs reads the keys and values of a call's arguments; stop says why the
// call was cut off.
func (c *Checker) readArgs(ch *choice, k *call, stop Kind) {
	if len(k.args) == 0 || !c.afford(2*len(k.args)) {
		return
	}
	r := another(&c.spare.args).begin(c.req, markup.Value)
	defer func() {
		r.renew()
		c.spare.args = r
	}()
	if code := k.machine.Code(); k.value || code == jsonstream.OK || code == jsonstream.Open {
		c.strings(r, k.args)
	} else {
		r.start(c.lastly())
		r.track.stretch(len(k.args), 0, false)
		r.read(k.args)
	}
	r.finish()
	looped := false
	for _, l := range c.leaks(r, stop) {
		c.tellArgs(ch, k, l, r.track.find(l.at))
		looped = looped || l.kind == TokenRepetition && !l.sign
	}
	if len(r.alien.found) > 0 {
		c.strangers(ch, k.place(), r.alien.found, len(k.args), func(i int64) int64 { return k.trail.find(k.args, r.track.find(i)) })
	}
	if !looped {
		c.rounds(ch, k, stop)
	}
}

// minBlank is how much space at the end of complete arguments is looked at.
const minBlank = 256

// rounds looks for a loop that the strings of the arguments do not show: one
// of values that the end of the budget cut off, or of the space between them.
func (c *Checker) rounds(ch *choice, k *call, stop Kind) {
	if stop != TruncatedLength && len(k.args)-len(bytes.TrimRight(k.args, "}] \t\r\n")) < minBlank {
		return
	}
	d := &c.lastly().text
	d.Reset(c.req.conditions().text)
	d.Write(k.args)
	d.Finish()
	for _, f := range d.Findings() {
		if f.Kind == text.Loop && proven(&f, stop) != "" {
			c.tellArgs(ch, k, leak{kind: TokenRepetition}, f.Start)
		}
	}
}

// tellArgs notes a leak at byte i of the arguments.
func (c *Checker) tellArgs(ch *choice, k *call, l leak, i int64) {
	off := k.trail.find(k.args, i)
	switch l.kind {
	case MarkupLeakContent, SpecialTokenLeak, MarkupLeakReasoning:
		l.kind = MarkupLeakArgs
	}
	if l.sign {
		c.signal(Signal{Kind: l.kind, Choice: ch.index, Call: k.place(), Offset: off})
		return
	}
	f := c.find(l.kind, ch.index, k.place(), off)
	f.Tool, f.ArgOffset = c.declared(k), &i
}

// strings reads the strings of a JSON text, or of the beginning of one.
func (c *Checker) strings(r *reader, args []byte) {
	for at := bytes.IndexByte(args, '"') + 1; at > 0; {
		n, escaped := stringLen(args[at:])
		end := at + n
		if ok, bare := blameless(args[at:end]); ok && !escaped {
			r.pass(args[at:end], int64(at), bare)
		} else {
			c.string(r, args, at, end, escaped)
		}
		i := -1
		if end < len(args) {
			i = bytes.IndexByte(args[end+1:], '"')
		}
		if at = 0; i >= 0 {
			at = end + 1 + i + 1
		}
	}
}

// string reads the string between two bytes of the arguments.
func (c *Checker) string(r *reader, args []byte, at, end int, escaped bool) {
	if r.engine == nil {
		r.start(c.lastly())
	}
	where := markup.Value
	if isKey(args[min(end+1, len(args)):]) {
		where = markup.Key
	}
	r.next(where)
	if escaped && end == len(args) {
		end -= halfEscape(args[at:end])
	}
	r.piece(&c.buf, &wire.Text{Raw: args[at:end], Escaped: escaped}, int64(at))
}

// blameless reports whether a string of arguments is so short and plain that no
// engine can find anything in it: loops are longer, and what else they look for
// has other bytes or one of two words. It is bare if it has no distinctive words.
func blameless(p []byte) (ok, bare bool) {
	if len(p) >= text.MinLoop {
		return false, false
	}
	digits := 0
	for i, b := range p {
		switch harmless[b] {
		case harm:
			return false, false
		case numeral:
			digits++
		case looked:
			if b == 'f' && (bytes.HasPrefix(p[i:], []byte("functions.")) || bytes.HasSuffix(p[:i], []byte("assistant"))) {
				return false, false
			}
			if b == '-' && bytes.HasSuffix(p[:i+1], []byte(Canary)) {
				digits += minDigits
			}
		}
	}
	return true, digits < minDigits
}

// What a byte of a string may be part of.
const (
	harm    = iota // something that an engine looks for
	idle           // nothing
	numeral        // a distinctive word
	looked         // a word that is known
)

var harmless = newHarmless()

func newHarmless() (t [256]uint8) {
	for b := byte(' '); b < 0x7F; b++ {
		switch {
		case b >= '0' && b <= '9':
			t[b] = numeral
		case b == 'f' || b == '-':
			t[b] = looked
		case bytes.IndexByte([]byte("<[|`\\"), b) < 0:
			t[b] = idle
		}
	}
	return t
}

// halfEscape is how many bytes of an escape stand at the end of b without its
// rest.
func halfEscape(b []byte) int {
	for n := 1; n < 6 && n <= len(b); n++ {
		if tail := b[len(b)-n:]; tail[0] == '\\' && odd(b[:len(b)-n+1]) {
			if n == 1 || tail[1] == 'u' {
				return n
			}
			return 0
		}
	}
	return 0
}
