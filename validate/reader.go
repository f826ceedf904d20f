package validate

import (
	"bytes"
	"unsafe"

	"turnwatch/validate/echo"
	"turnwatch/validate/markup"
	"turnwatch/validate/text"
	"turnwatch/validate/wire"
)

// engine is what texts are read with. It is large and holds the latest text.
type engine struct {
	marks markup.Scanner
	text  text.Detector
}

// engineSize is how much memory an engine takes.
const engineSize = int(unsafe.Sizeof(engine{}))

// reader reads one text of the answer, or those of a call's arguments, for
// markup, for what no text holds and for words of other requests. Pieces wait
// until there is enough of them to be worth it: what they are read with has
// left the processor's caches meanwhile. A short text waits for its end, and
// takes no engine of its own.
type reader struct {
	*engine
	memory   *Schemas // lends the engine
	prompt   *prompt
	where    markup.Where
	waiting  []byte
	counted  int // bytes of waiting that count has seen
	alien    aliens
	echo     *echo.Reader // reads it, too; nil: nothing is compared
	replay   replay       // of a text that streams
	streams  bool
	bytes    bool // nobody asks any more how many tokens it takes: Checker.byBytes
	spend    spend
	track    track
	joiner   wire.Joiner
	solid    bool  // there was more than space
	common   bool  // it is made of common words, as far as anybody asks
	cyrillic bool  // letters of U+0400 to U+04FF were among it
	beside   bool  // the choice has reasoning beside this text
	wide     bool  // characters beyond Latin were in front of the first call
	front    int32 // bytes of waiting in front of it, -1 if they were looked at
	passed   int32 // bytes that the engine is not to read, behind the latest text
	called   int64 // decoded bytes in front of it, -1 if none came
	angles   int   // < less > behind it
}

// maxWaiting is how much of a text waits.
const maxWaiting = 512

// begin begins to read a text of an answer to r.
func (n *reader) begin(r *Request, where markup.Where) *reader {
	n.memory, n.prompt, n.where, n.called, n.front = r.Schemas, r.conditions(), where, -1, -1
	n.alien.reset(n.prompt.words)
	return n
}

// start takes an engine.
func (r *reader) start(e *engine) {
	r.engine = e
	e.marks.Reset(&r.prompt.rules, r.where)
	e.text.Reset(r.prompt.text)
}

// held is about how many bytes it keeps.
func (r *reader) held() int {
	n := int(unsafe.Sizeof(*r)) + cap(r.waiting) + cap(r.track.buf) + 8*cap(r.alien.found)
	if r.engine != nil {
		n += engineSize
	}
	return n
}

// piece reads the next piece of a text, which begins at offset at, and returns
// it decoded, in buf if need be, and whether it repeats what was before it.
func (r *reader) piece(buf *[]byte, t *wire.Text, at int64) (p []byte, how again) {
	p, odds := t.Raw, []wire.Odd(nil)
	if t.Escaped || r.joiner.Pending() {
		p = r.joiner.Append((*buf)[:0], *t)
		*buf, odds = p, r.joiner.Odds
	}
	r.track.add(p, at, t.Escaped, odds)
	if r.streams {
		if r.replay.fits(p) {
			r.settle()
			how = r.replay.again(p)
		}
		r.replay.add(p)
	}
	r.read(p)
	return p, how
}

// read reads decoded text.
func (r *reader) read(p []byte) {
	if len(r.waiting)+len(p) <= maxWaiting {
		r.waiting = append(r.waiting, p...)
		return
	}
	if r.engine == nil {
		r.start(r.memory.lend())
	}
	r.flush()
	if len(p) <= maxWaiting {
		r.waiting = append(r.waiting, p...)
		return
	}
	r.count(p)
	r.look(p)
}

// flush reads what waits, with the engine.
func (r *reader) flush() {
	r.settle()
	rest := r.waiting
	if r.front >= 0 {
		r.look(rest[:r.front])
		r.marks.Called()
		rest, r.front = rest[r.front:], -1
	}
	r.look(rest)
	r.waiting, r.counted = r.waiting[:0], 0
}

// look looks at text as the engine does.
func (r *reader) look(p []byte) {
	r.marks.Write(p)
	r.text.Write(p)
}

// settle counts what waits.
func (r *reader) settle() {
	if r.counted < len(r.waiting) {
		r.count(r.waiting[r.counted:])
		r.counted = len(r.waiting)
	}
}

// count counts what a text holds, and notes its words: of arguments those alone.
func (r *reader) count(p []byte) {
	if r.where == markup.Value {
		r.alien.read(p, true)
		return
	}
	if r.streams {
		r.replay.read(p)
	}
	digits := r.spends(p)
	switch {
	case r.echo == nil:
	case digits:
		r.echo.Read(p)
	default:
		r.echo.Plain(p)
	}
	r.alien.read(p, digits)
	r.cyrillic = r.cyrillic || r.spend.wide && cyrillic(p)
	r.solid = r.solid || solid(p)
	if r.called >= 0 {
		r.angles += bytes.Count(p, []byte("<")) - bytes.Count(p, []byte(">"))
	}
}

// spends counts what a text takes, and reports whether it has digits.
func (r *reader) spends(p []byte) (digits bool) {
	if r.bytes {
		return r.spend.pass(p)
	}
	return r.spend.read(p)
}

func solid(p []byte) bool {
	for _, b := range p {
		if b != ' ' && b != '\n' && b != '\r' && b != '\t' {
			return true
		}
	}
	return false
}

// call notes that a call of the same choice came.
func (r *reader) call() {
	if r != nil && r.called < 0 {
		r.settle()
		r.called, r.wide, r.front = r.track.dec, r.spend.wide, int32(len(r.waiting))
	}
}

// strayed reports whether the text behind a call is in a script that neither
// the request nor the text in front of it has, among brackets that do not
// match: a turn is over when its calls are.
func (r *reader) strayed() bool {
	return r.called >= 0 && r.angles > 0 && !r.wide && r.text.Scripts()>>2 != 0
}

// next ends the text and begins another one.
func (r *reader) next(where markup.Where) {
	r.flush()
	r.marks.Next(where)
	r.marks.Skip(int(r.passed))
	r.text.Next()
	r.text.Skip(int(r.passed))
	r.alien.finish()
	r.joiner, r.passed = wire.Joiner{}, 0
}

// pass passes over a text in which no engine would find anything, without one.
// A bare one has no distinctive words either.
func (r *reader) pass(p []byte, at int64, bare bool) {
	r.settle()
	r.alien.finish()
	r.track.stretch(len(p), at, false)
	if bare {
		r.alien.skip(len(p))
	} else {
		r.alien.read(p, true)
		r.alien.finish()
	}
	r.passed += int32(len(p))
}

// finish ends the text.
func (r *reader) finish() {
	if r.engine != nil {
		r.flush()
		r.marks.Finish()
		r.text.Finish()
	}
	r.alien.finish()
}
