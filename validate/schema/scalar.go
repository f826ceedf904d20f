package schema

// watch says what of the scalar at hand somebody wants to know.
type watch uint8

const (
	watchRunes watch = 1 << iota
	watchWords
	watchText
	watchHash
	watchMinor
	watchNumber
)

// hint is a violation by a string that may read like what was wanted.
type hint struct {
	violation int
	want      mask
}

// begin sets to work all that looks at the value that begins.
func (c *Checker) begin(kind mask) {
	c.val, c.kind, c.watch = c.mark(), kind, 0
	if len(c.frames) == 0 {
		c.spawn(c.run.root, seat{up: -1, hard: true}, kind)
		return
	}
	if f := c.top(); f.array {
		c.element(f, kind)
		return
	}
	for _, p := range c.pend {
		if up := &c.evals[p.up]; !up.dead {
			c.spawn(p.node, seat{up: p.up, hard: up.hard}, kind)
		}
	}
	c.pend = c.pend[:0]
}

func (c *Checker) top() *frame { return &c.frames[len(c.frames)-1] }

// listen notes what the evals of a scalar want to know of it.
func (c *Checker) listen(kind mask) {
	if c.folds() || c.naming && c.top().distinct {
		c.watch |= watchHash
	}
	for i := c.val.lo; i < len(c.evals); i++ {
		e := &c.evals[i]
		switch {
		case e.dead:
		case kind == tString:
			c.watch |= e.listen()
		case e.node.types&(tNumber|tInteger) == tInteger || len(e.node.limits)+len(e.node.step)+len(e.node.enums) > 0:
			c.watch |= watchNumber
		}
	}
}

// listen is what an eval wants to know of a string.
func (e *eval) listen() (w watch) {
	n := e.node
	if n.minRune > 0 || n.maxRune >= 0 {
		w |= watchRunes
	}
	if n.pattern != nil {
		w |= watchText
	}
	for k, en := range n.enums {
		e.str[k] = en.words.all()
		w |= watchWords
	}
	return w
}

func (c *Checker) beginString() {
	c.begin(tString)
	c.listen(tString)
	c.clear()
	if len(c.minor) > 0 {
		c.watch |= watchMinor
	}
}

func (c *Checker) clear() { c.runes, c.bytes, c.text, c.hash = 0, 0, c.text[:0], c.run.seed }

// maxMinor is how long a string may be that reads like another scalar.
const maxMinor = 64

// piece takes in decoded text of the string at hand, which begins at offset at
// and is spelled as it is, or is one character that was escaped.
func (c *Checker) piece(p []byte, at int64, straight bool) {
	lo, bad := c.val.lo, false
	if c.isKey {
		lo, bad = c.top().lo, c.keyPiece(p)
	}
	if c.watch&(watchRunes|watchWords) != 0 && c.pay((len(c.evals)-c.val.lo)/4) {
		for i := c.val.lo; i < len(c.evals); i++ {
			if e := &c.evals[i]; !e.dead {
				e.bad = c.hear(e, p)
				bad = bad || e.bad < len(p)
			}
		}
	}
	if bad {
		c.settle(lo, len(p), at, straight)
	}
	if c.watch&watchRunes != 0 {
		c.runes += leads(p)
	}
	if c.watch&watchText != 0 || c.watch&watchMinor != 0 && len(c.text) <= maxMinor {
		c.text = append(c.text, p...)
	}
	if c.watch&watchHash != 0 {
		c.hash = hashBytes(c.hash, p)
	}
	c.bytes += len(p)
}

// hear holds new text of a string against an eval, and says which byte of it
// cannot be, its length if all can.
func (c *Checker) hear(e *eval, p []byte) int {
	bad := len(p)
	for k, en := range e.node.enums {
		if e.str[k].empty() {
			return 0
		}
		var n int
		e.str[k], n = en.words.narrow(e.str[k], c.bytes, p)
		bad = min(bad, n)
	}
	if m := e.node.maxRune; m >= 0 && c.runes+leads(p) > m {
		bad = min(bad, lead(p, m-c.runes))
	}
	return bad
}

// settle fails the evals that cannot be with a piece of n bytes, in the order
// of the bytes.
func (c *Checker) settle(lo, n int, at int64, straight bool) {
	for c.status == Ready && c.pay(len(c.evals)-lo) {
		worst := -1
		for i := lo; i < len(c.evals); i++ {
			if e := &c.evals[i]; !e.dead && e.bad < n && (worst < 0 || e.bad < c.evals[worst].bad) {
				worst = i
			}
		}
		if worst < 0 {
			return
		}
		c.at = at
		if straight {
			c.at += int64(c.evals[worst].bad)
		}
		c.evals[worst].bad = n
		if worst < c.val.lo {
			c.deny(worst)
		} else {
			c.fail(worst, failure{class: Value, final: true})
		}
	}
}

// leads counts the bytes that begin a character.
func leads(p []byte) (n int) {
	for _, b := range p {
		if b&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// lead is the byte that begins character n.
func lead(p []byte, n int) int {
	for i, b := range p {
		if b&0xC0 == 0x80 {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return len(p)
}

// finishString judges the string at hand as a whole.
func (c *Checker) finishString() {
	c.spelled()
	for _, h := range c.minor {
		c.found[h.violation].Minor = readsLike(c.text, h.want)
	}
	c.minor = c.minor[:0]
	if c.watch&watchHash != 0 {
		c.hash = c.run.hashString(c.hash)
	}
	c.end(c.hash)
}

// spelled holds the whole string against the evals of the block.
func (c *Checker) spelled() {
	for i := len(c.evals) - 1; i >= c.val.lo && c.status == Ready; i-- {
		if e := &c.evals[i]; !e.dead && !c.conforms(e) {
			c.fail(i, failure{class: Value, final: true})
		}
		if !c.evals[i].dead {
			c.succeed(i)
		}
	}
}

func (c *Checker) conforms(e *eval) bool {
	n := e.node
	if n.plain {
		return true
	}
	for k, en := range n.enums {
		if en.words.whole(e.str[k], c.bytes) < 0 {
			return false
		}
	}
	if n.minRune > 0 && c.runes < n.minRune {
		return false
	}
	return n.pattern == nil || c.matches(n.pattern)
}

// matches holds the text at hand against a pattern.
func (c *Checker) matches(p *pattern) bool {
	if p.back != nil {
		return c.backtracks(p.back)
	}
	return c.pay(6+len(c.text)*p.cost/8) && p.Match(c.text)
}

// backtracks is matches for a pattern that RE2 cannot express. What takes too
// long is not evaluated.
func (c *Checker) backtracks(b *backtracker) bool {
	matched, known := b.match(c.text, c.budget)
	if !known {
		c.status = TooComplex
	}
	return matched
}

// finishNumber judges the number at hand.
func (c *Checker) finishNumber() {
	var d decimal
	if c.watch != 0 && (c.watch != watchNumber || !c.trivial()) {
		if len(c.num) > maxDigits || !c.whole && excessive(c.num) {
			c.status = TooComplex
			return
		}
		d = parse(c.num, c.digits)
		c.digits = d.digits
	}
	for i := len(c.evals) - 1; i >= c.val.lo && c.status == Ready; i-- {
		if f, bad := c.measure(c.evals[i].node, &d); bad && !c.evals[i].dead {
			c.fail(i, f)
		}
		if !c.evals[i].dead {
			c.succeed(i)
		}
	}
	var h uint64
	if c.watch&watchHash != 0 {
		h = d.hash(c.run.seed)
	}
	c.end(h)
}

// trivial reports whether it is enough to know that the number is an integer.
func (c *Checker) trivial() bool {
	if !c.whole {
		return false
	}
	for i := c.val.lo; i < len(c.evals); i++ {
		if e := &c.evals[i]; !e.dead && len(e.node.limits)+len(e.node.step)+len(e.node.enums) > 0 {
			return false
		}
	}
	return true
}

// measure says why a number cannot do.
func (c *Checker) measure(n *node, d *decimal) (failure, bool) {
	if n.types&(tNumber|tInteger) == tInteger && !c.whole && !d.integral() {
		return failure{class: Type, want: n.types, begin: true, final: true}, true
	}
	f := failure{class: Value, final: true}
	for i := range n.limits {
		if !n.limits[i].holds(d) {
			return f, true
		}
	}
	for _, en := range n.enums {
		if !en.number(d) {
			return f, true
		}
	}
	for i := range n.step {
		if c.pay(200) && !d.multiple(&n.step[i]) {
			return f, true
		}
	}
	return f, false
}

// end ends a scalar.
func (c *Checker) end(hash uint64) {
	for i := len(c.evals) - 1; i >= c.val.lo && c.kind&(tBool|tNull) != 0; i-- {
		if !c.evals[i].dead {
			c.succeed(i)
		}
	}
	c.release(c.val)
	c.fold(hash)
}
