package schema

// maxKey is how many bytes of a name are kept to tell of it.
const maxKey = 256

// beginKey begins the name of a property.
func (c *Checker) beginKey() {
	f := c.top()
	c.keys, c.named, c.naming = c.keys[:f.keys], len(c.found), true
	c.val, c.watch = c.mark(), 0
	c.clear()
	if !c.pay(f.hi - f.lo) {
		return
	}
	var text watch
	for i := f.lo; i < f.hi && c.status == Ready; i++ {
		e := &c.evals[i]
		n := e.node
		if e.dead || n.plain {
			continue
		}
		e.key, e.denied = n.names.all(), false
		if len(n.names) == 0 {
			c.deny(i)
		}
		if len(n.patterns) > 0 {
			text = watchText
		}
		if n.keys != nil && !c.evals[i].dead {
			c.spawn(n.keys, seat{up: i, hard: c.evals[i].hard, name: true}, tString)
		}
	}
	c.listen(tString)
	c.watch |= text
}

// quickKey reads a whole name, where it is all there, spelled as it is, and
// known to the only eval that looks at it. It is 0 where that is not so, else
// how many bytes it read. It does what beginKey, piece and endKey would do.
func (c *Checker) quickKey(p []byte) int {
	if c.st != atKey || p[0] != '"' || c.skip > 0 {
		return 0
	}
	f := c.top()
	if f.hi-f.lo != 1 || f.hashed || f.distinct {
		return 0
	}
	n := plain(p[1:])
	if 1+n >= len(p) || p[1+n] != '"' || n > maxKey {
		return 0
	}
	e := &c.evals[f.lo]
	s := e.node.quick(p[1 : 1+n])
	if s < 0 || e.dead || !c.pay(1) {
		return 0
	}
	c.keys, c.named, c.st = append(c.keys[:f.keys], p[1:1+n]...), len(c.found), atColon
	c.bits[e.bits+s/64] |= 1 << (s % 64)
	f.count++
	c.await(f.lo, e.node.slots[s].node)
	if n+2 < len(p) && p[n+2] == ':' {
		c.st = atValue
		return n + 3
	}
	return n + 2
}

// quick is the place of a name for which nothing but the schema of its value
// counts, -1 if it is not such.
func (n *node) quick(name []byte) int {
	if len(n.names) > few || len(n.patterns)+len(n.depends) > 0 || n.keys != nil {
		return -1
	}
	for i, k := range n.names {
		if string(name) == k {
			if s := &n.slots[i]; s.declared && (s.node == nil || !s.node.never) {
				return i
			}
			return -1
		}
	}
	return -1
}

// deny refuses a name that is none of those allowed.
func (c *Checker) deny(i int) {
	e := &c.evals[i]
	if e.node.closed && len(e.node.patterns) == 0 && !e.denied {
		e.denied = true
		c.fail(i, failure{class: Additional})
	}
}

// keyPiece takes in decoded text of a name, and reports whether some eval has
// none that goes on like this.
func (c *Checker) keyPiece(p []byte) (bad bool) {
	c.keys = append(c.keys, p[:min(len(p), max(0, maxKey-c.bytes))]...)
	f := c.top()
	if !c.pay((f.hi - f.lo) / 4) {
		return false
	}
	for i := f.lo; i < f.hi; i++ {
		e := &c.evals[i]
		if e.bad = len(p); e.dead || e.key.empty() {
			continue
		}
		e.key, e.bad = e.node.names.narrow(e.key, c.bytes, p)
		bad = bad || e.bad < len(p)
	}
	return bad
}

// endKey ends the name of a property.
func (c *Checker) endKey() {
	c.spelled()
	c.release(c.val)
	c.naming = false
	f := c.top()
	if c.watch&watchHash != 0 {
		f.keyHash = c.run.hashString(c.hash)
	}
	if !f.distinct || f.set.add(f.keyHash) {
		f.count++
	}
	for i := f.lo; i < f.hi && c.status == Ready; i++ {
		if e := &c.evals[i]; !e.dead && !e.node.plain {
			c.property(i, e.node, f)
		}
	}
	c.tell()
}

// property looks for what holds for the property that has just been named.
func (c *Checker) property(i int, n *node, f *frame) {
	if n.maxProps >= 0 && f.count == n.maxProps+1 {
		c.fail(i, failure{class: Value})
	}
	matched := false
	if s := n.names.whole(c.evals[i].key, c.bytes); s >= 0 {
		c.bits[c.evals[i].bits+s/64] |= 1 << (s % 64)
		c.needed(i, n, s)
		if matched = n.slots[s].declared; matched {
			c.await(i, n.slots[s].node)
		}
	}
	for k := range n.patterns {
		if c.matches(n.patterns[k].pattern) {
			matched = true
			c.await(i, n.patterns[k].node)
		}
	}
	if !matched && !c.evals[i].denied {
		c.await(i, n.rest)
	}
}

// needed fails an eval if a schema that depends on the property failed.
func (c *Checker) needed(i int, n *node, s int) {
	for g := range n.depends {
		if n.depends[g].slot != s || !c.pay((c.top().hi-i)/8) {
			continue
		}
		for j := i + 1; j < c.top().hi; j++ {
			if e := &c.evals[j]; e.up == i && e.role == depend && e.group == g && e.dead {
				c.pass(i, c.fails[j])
			}
		}
	}
}

// await keeps a node for the value of the property.
func (c *Checker) await(i int, n *node) {
	switch {
	case n == nil || c.evals[i].dead:
	case n.never:
		c.fail(i, failure{class: Additional})
	default:
		c.pend = append(c.pend, pending{n, i})
	}
}

// tell puts the name, if the schema knows it, where it was refused.
func (c *Checker) tell() {
	if c.named == len(c.found) {
		return
	}
	name := string(c.keys[c.top().keys:])
	if !c.s.names[name] {
		return
	}
	for i := c.named; i < len(c.found); i++ {
		if v := &c.found[i]; v.Class == Additional {
			v.Pointer = v.Pointer[:len(v.Pointer)-1] + escapes.Replace(name)
		}
	}
}
