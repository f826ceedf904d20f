package schema

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Checker holds one text against a schema while it comes in. It tells of each
// violation at the first byte at which no continuation could mend it. It is
// not for concurrent use.
type Checker struct {
	s      *Schema
	run    *program
	budget *Budget
	status Status  // TooComplex once it gave up
	many   bool    // … because of too many alternatives
	late   *Schema // what the text was held against again

	// The text.
	base   int64 // bytes before the piece at hand
	at     int64 // the byte that findings of the moment become certain at
	st     state
	skip   int // nesting inside a value that anything may be
	isKey  bool
	unit   uint32 // the \uXXXX at hand, and the high surrogate before it
	high   uint32
	hexes  int
	num    []byte // the number at hand, cut at one byte more than is read
	whole  bool   // … has neither point nor exponent
	digits []byte

	// The values that are open.
	evals  []eval
	fails  []failure // of evals that failed, in their places
	counts []int32
	bits   []uint64
	frames []frame
	keys   []byte // names of the open members
	pend   []pending
	sets   []*set // that are free

	// The scalar at hand.
	val     block
	kind    mask
	watch   watch
	naming  bool // it is the name of a property
	runes   int
	bytes   int
	text    []byte
	hash    uint64
	literal byte

	found []Violation
	named int // the first of found that may wait for its name
	minor []hint
}

// state is where in the text the next byte stands.
type state uint8

const (
	atValue state = iota // a value, or the end of an array
	atKey                // a key, or the end of an object
	atColon
	after // a comma, or an end
	inString
	inEscape
	inHex
	inNumber
	inLiteral
)

// Checker begins to hold a text against the schema, on a budget.
func (s *Schema) Checker(b *Budget) *Checker {
	c, _ := s.checkers.Get().(*Checker)
	if c == nil {
		c = new(Checker)
	}
	return c.of(s, b)
}

// of makes a new checker, or a renewed one, one of a schema.
func (c *Checker) of(s *Schema, b *Budget) *Checker {
	c.s, c.run, c.budget, c.status = s, s.program, b, s.status
	if c.run == nil && c.status == Ready {
		c.status = TooComplex
		c.many = true
	}
	return c
}

// spareEvals bounds what goes on with a checker: one that watched more values
// at once is left to the collector.
const spareEvals = 64

// Free gives the checker's memory to another one of the same schema. After it,
// the checker must not be used; the violations that it told of stay.
func (c *Checker) Free() {
	if c == nil || cap(c.evals) > spareEvals || cap(c.text) > maxKey {
		return
	}
	s := c.s
	c.renew()
	s.checkers.Put(c)
}

// renew makes it a new one. Only empty lists stay.
func (c *Checker) renew() {
	*c = Checker{
		evals: c.evals[:0], fails: c.fails[:0], counts: c.counts[:0], bits: c.bits[:0], frames: c.frames[:0],
		keys: c.keys[:0], pend: c.pend[:0], sets: c.sets, num: c.num[:0], digits: c.digits[:0], text: c.text[:0], minor: c.minor[:0],
	}
}

// Feed reads the next bytes of a text, cut anywhere, which must be JSON so far.
func (c *Checker) Feed(p []byte) {
	if c.status != Ready || !c.pay(1+len(p)/16) {
		return
	}
	for i := 0; i < len(p) && c.status == Ready; {
		switch c.st {
		case inString:
			i = c.inString(p, i)
			continue
		case inNumber:
			i = c.inNumber(p, i)
			continue
		}
		if n := c.quickKey(p[i:]); n > 0 {
			i += n
			continue
		}
		c.at = c.base + int64(i)
		switch c.st {
		case inEscape:
			c.escape(p[i])
		case inHex:
			c.hex(p[i])
		case inLiteral:
			c.inLiteral()
		default:
			c.between(p[i])
		}
		i++
	}
	c.base += int64(len(p))
}

// Found returns the violations that are certain so far.
func (c *Checker) Found() []Violation { return c.found }

// Finish ends the text, which is given as a whole again: what was not
// evaluated while it came in is evaluated now, if the budget affords it.
func (c *Checker) Finish(text []byte) ([]Violation, Status) {
	if c.status == Ready && c.st == inNumber {
		c.at = c.base
		c.endNumber()
	}
	if c.many && len(c.found) == 0 {
		return c.s.fallback(text, c.budget)
	}
	if c.s.late != nil && c.status == Ready && len(c.found) == 0 {
		c.again(text)
	}
	return c.found, c.status
}

// Lost is how many keywords of the schema were not evaluated.
func (c *Checker) Lost() int {
	if c.late != nil {
		return c.late.lost
	}
	return c.s.lost
}

// pay takes from the budget; without one the checker gives up.
func (c *Checker) pay(n int) bool {
	if !c.budget.pay(n) {
		c.status = TooComplex
		return false
	}
	return true
}

// plain is how many bytes of p are neither a quote nor a backslash.
func plain(p []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for len(p)-n >= 8 {
		w := binary.LittleEndian.Uint64(p[n:])
		q, s := w^(ones*'"'), w^(ones*'\\')
		if odd := ((q-ones)&^q | (s-ones)&^s) & highs; odd != 0 {
			return n + bits.TrailingZeros64(odd)/8
		}
		n += 8
	}
	for n < len(p) && p[n] != '"' && p[n] != '\\' {
		n++
	}
	return n
}

// inString reads on in a string.
func (c *Checker) inString(p []byte, i int) int {
	n := plain(p[i:])
	if n > 0 && c.listens() {
		c.piece(p[i:i+n], c.base+int64(i), true)
	}
	if i += n; i == len(p) || c.status != Ready {
		return i
	}
	c.at = c.base + int64(i)
	if p[i] == '\\' {
		c.st = inEscape
		return i + 1
	}
	c.endString()
	return i + 1
}

// listens reports whether anybody wants to know the text of the string.
func (c *Checker) listens() bool { return c.skip == 0 && (c.isKey || c.watch != 0) }

// between reads a byte outside of strings and numbers.
func (c *Checker) between(b byte) {
	switch {
	case b == ' ' || b == '\t' || b == '\r' || b == '\n':
	case !c.expects(b):
		c.status = TooComplex // no JSON: the caller knows better what it is
	case b == '{' || b == '[':
		c.open(b == '[')
	case b == '}' || b == ']':
		c.shut()
	case b == '"':
		c.quote()
	case b == ':':
		c.st = atValue
	case b == ',':
		c.comma()
	case b == 't' || b == 'f' || b == 'n':
		c.beginLiteral(b)
	default:
		c.beginNumber(b)
	}
}

// expects reports whether b may stand here, as far as the checker relies on it.
func (c *Checker) expects(b byte) bool {
	if c.skip > 0 {
		return true
	}
	end := b == '}' || b == ']'
	if end && (len(c.frames) == 0 || c.top().array != (b == ']')) {
		return false
	}
	switch c.st {
	case atKey:
		return b == '"' || b == '}'
	case atColon:
		return b == ':'
	case after:
		return end || b == ',' && len(c.frames) > 0
	}
	return b != ':' && b != ',' && b != '}'
}

// escape reads the byte behind a backslash.
func (c *Checker) escape(b byte) {
	c.st = inString
	switch b {
	case 'u':
		c.st, c.hexes, c.unit = inHex, 0, 0
		return
	case 'b':
		b = '\b'
	case 'f':
		b = '\f'
	case 'n':
		b = '\n'
	case 'r':
		b = '\r'
	case 't':
		b = '\t'
	}
	c.decoded(rune(b))
}

// hex reads a digit of \uXXXX.
func (c *Checker) hex(b byte) {
	d := uint32(b) & 0xf
	if b > '9' {
		d += 9
	}
	c.unit = c.unit<<4 | d
	if c.hexes++; c.hexes < 4 {
		return
	}
	c.st = inString
	switch {
	case c.unit >= 0xD800 && c.unit < 0xDC00:
		c.high = c.unit
	case c.unit >= 0xDC00 && c.unit < 0xE000:
		c.decoded(rune(0x10000 + (c.high&0x3ff)<<10 + c.unit&0x3ff))
	default:
		c.decoded(rune(c.unit))
	}
}

// decoded passes on a character that was escaped.
func (c *Checker) decoded(r rune) {
	if c.listens() {
		var buf [utf8.UTFMax]byte
		c.piece(utf8.AppendRune(buf[:0], r), c.at, false)
	}
}

func (c *Checker) quote() {
	if c.st == atKey {
		c.isKey, c.st = true, inString
		if c.skip == 0 {
			c.beginKey()
		}
		return
	}
	c.isKey, c.st = false, inString
	if c.skip == 0 {
		c.beginString()
	}
}

// endString is called at the closing quote.
func (c *Checker) endString() {
	if c.isKey {
		c.st = atColon
		if c.skip == 0 {
			c.endKey()
		}
		c.isKey = false
		return
	}
	c.st = after
	if c.skip == 0 && !c.ignored() {
		c.finishString()
	}
	c.kind = 0
}

// ignored reports whether nobody looks at the scalar at hand.
func (c *Checker) ignored() bool { return c.watch == 0 && len(c.evals) == c.val.lo && !c.folds() }

// folds reports whether the value around the one at hand wants its hash.
func (c *Checker) folds() bool {
	if len(c.frames) == 0 {
		return false
	}
	f := c.top()
	return f.hashed || f.unique
}

func (c *Checker) beginLiteral(b byte) {
	c.st, c.literal, c.hexes = inLiteral, b, 3
	if b == 'f' {
		c.hexes = 4
	}
	if c.skip > 0 {
		return
	}
	kind := tBool
	if b == 'n' {
		kind = tNull
	}
	c.begin(kind)
	for i := c.val.lo; i < len(c.evals); i++ {
		if e := &c.evals[i]; !e.dead && kind == tBool && !e.node.allows(b == 't') {
			c.fail(i, failure{class: Value, final: true})
		}
	}
}

// allows reports whether the enums of n hold a boolean.
func (n *node) allows(yes bool) bool {
	for _, en := range n.enums {
		if yes && !en.yes || !yes && !en.no {
			return false
		}
	}
	return true
}

func (c *Checker) inLiteral() {
	if c.hexes--; c.hexes > 0 {
		return
	}
	c.st = after
	if c.skip == 0 && !c.ignored() {
		c.end(c.run.hashLiteral(c.literal))
	}
}

func (c *Checker) beginNumber(b byte) {
	c.st, c.whole, c.num = inNumber, true, append(c.num[:0], b)
	if c.skip == 0 {
		c.begin(tNumber | tInteger)
		c.listen(tNumber)
	}
}

// inNumber reads on in a number; what follows it is left.
func (c *Checker) inNumber(p []byte, i int) int {
	for ; i < len(p); i++ {
		if p[i] >= '0' && p[i] <= '9' && c.watch == 0 {
			continue
		}
		switch b := p[i]; {
		case b >= '0' && b <= '9', b == '-', b == '+':
		case b == '.' || b == 'e' || b == 'E':
			c.whole = false
		default:
			c.at = c.base + int64(i)
			c.endNumber()
			return i
		}
		if len(c.num) <= maxDigits {
			c.num = append(c.num, p[i])
		}
	}
	return i
}

func (c *Checker) endNumber() {
	c.st = after
	if c.skip == 0 && !c.ignored() {
		c.finishNumber()
	}
}
