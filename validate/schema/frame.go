package schema

// frame is an array or object that is open.
type frame struct {
	block
	hi       int // the end of its evals
	array    bool
	hashed   bool // somebody compares it
	unique   bool // somebody compares its elements
	distinct bool // somebody counts its properties
	hash     uint64
	keyHash  uint64
	count    int // of elements begun, of properties
	keys     int // where the name of its open member begins in Checker.keys
	set      *set
}

// pending is a node that waits for the value of a property.
type pending struct {
	node *node
	up   int
}

const maxLevels = 1000

// open begins an array or object.
func (c *Checker) open(array bool) {
	kind := tObject
	c.st = atKey
	if array {
		kind, c.st = tArray, atValue
	}
	if c.skip > 0 {
		c.skip++
		return
	}
	hashed := c.folds()
	c.begin(kind)
	f := frame{block: c.val, hi: len(c.evals), array: array, hashed: hashed, keys: len(c.keys)}
	if !c.engage(&f, kind) {
		c.skip = 1
		c.release(c.val)
		return
	}
	if len(c.frames) >= maxLevels {
		c.status = TooComplex
		return
	}
	f.hash = c.run.hashEmpty(array)
	if f.unique || f.distinct {
		f.set = c.fresh()
	}
	c.frames = append(c.frames, f)
}

// engage notes what is to be known of an array or object, and reports whether
// it is anything at all.
func (c *Checker) engage(f *frame, kind mask) bool {
	engaged := f.hashed
	for i := f.lo; i < f.hi; i++ {
		e := &c.evals[i]
		if e.dead {
			continue
		}
		n := e.node
		engaged = true
		f.unique = f.unique || f.array && n.unique
		f.distinct = f.distinct || !f.array && (n.minProps > 0 || n.maxProps >= 0)
		for _, en := range n.enums {
			f.hashed = f.hashed || en.compound&kind != 0
		}
	}
	return engaged
}

// fresh is an empty set.
func (c *Checker) fresh() *set {
	if n := len(c.sets); n > 0 {
		s := c.sets[n-1]
		c.sets = c.sets[:n-1]
		return s
	}
	return &set{}
}

// shut ends the innermost array or object.
func (c *Checker) shut() {
	c.st = after
	if c.skip > 0 {
		c.skip--
		return
	}
	f := *c.top()
	for i := f.hi - 1; i >= f.lo && c.status == Ready; i-- {
		if !c.evals[i].dead {
			c.close(i, &f)
		}
		if !c.evals[i].dead {
			c.succeed(i)
		}
	}
	if f.set != nil {
		f.set.clear()
		c.sets = append(c.sets, f.set)
	}
	c.frames = c.frames[:len(c.frames)-1]
	c.keys = c.keys[:f.keys]
	c.release(f.block)
	c.fold(f.hash)
}

// fold takes in the hash of a value that ended.
func (c *Checker) fold(hash uint64) {
	if len(c.frames) == 0 {
		return
	}
	f := c.top()
	switch {
	case !f.hashed:
	case f.array:
		f.hash = hashElement(f.hash, hash)
	default:
		f.hash += hashMember(f.keyHash, hash)
	}
	if f.unique && c.pay(2) && !f.set.add(hash) {
		for i := f.lo; i < f.hi; i++ {
			if e := &c.evals[i]; !e.dead && e.node.unique {
				c.fail(i, failure{class: Value, final: true})
			}
		}
	}
}

// close holds a whole array or object against an eval.
func (c *Checker) close(i int, f *frame) {
	n := c.evals[i].node
	if n.plain {
		return
	}
	for _, en := range n.enums {
		if en.compound != 0 && !en.hashes[f.hash] {
			c.fail(i, failure{class: Value, final: true})
			return
		}
	}
	if f.array {
		if f.count < n.minItems || n.contains != nil && c.evals[i].count < n.minHeld {
			c.fail(i, failure{class: Value})
		}
		return
	}
	c.closeObject(i, n, f)
}

func (c *Checker) closeObject(i int, n *node, f *frame) {
	if !c.pay((len(n.required) + len(n.needy)) / 4) {
		return
	}
	for _, s := range n.required {
		if !c.has(i, s) {
			c.fail(i, failure{class: Required, name: n.names[s]})
		}
	}
	for _, s := range n.needy {
		if c.has(i, s) {
			c.closeNeedy(i, n, n.slots[s].needs)
		}
	}
	if f.count < n.minProps {
		c.fail(i, failure{class: Value})
	}
}

// closeNeedy holds an object against what one of its properties requires.
func (c *Checker) closeNeedy(i int, n *node, needs []int) {
	if !c.pay(len(needs) / 4) {
		return
	}
	for _, need := range needs {
		if !c.has(i, need) {
			c.fail(i, failure{class: Required, name: n.names[need]})
		}
	}
}

// element sets to work what looks at the element that begins.
func (c *Checker) element(f *frame, kind mask) {
	lo, hi, at := f.lo, f.hi, f.count
	if f.count++; !c.pay(hi - lo) {
		return
	}
	for i := lo; i < hi; i++ {
		if at == 0 {
			c.room(i, 0)
		}
		e := &c.evals[i]
		if e.dead || e.node.plain {
			continue
		}
		n, hard := e.node, e.hard
		sub := n.items
		if at < len(n.prefix) {
			sub = n.prefix[at]
		}
		if sub != nil && (!sub.never || at < len(n.prefix)) {
			c.spawn(sub, seat{up: i, hard: hard}, kind)
		}
		if n.contains != nil && c.status == Ready && !c.evals[i].dead {
			c.spawn(n.contains, seat{up: i, role: held}, kind)
		}
	}
}

// room reports where an array may have no element at a place.
func (c *Checker) room(i, at int) {
	e := &c.evals[i]
	if n := e.node; !e.dead && !n.plain {
		if n.maxItems == at {
			c.fail(i, failure{class: Value})
		}
		if n.items != nil && n.items.never && len(n.prefix) == at {
			c.fail(i, failure{class: Additional})
		}
	}
}

func (c *Checker) comma() {
	c.st = atValue
	if c.skip > 0 {
		return
	}
	f := c.top()
	if !f.array {
		c.st = atKey
		return
	}
	for i := f.lo; i < f.hi; i++ {
		c.room(i, f.count)
	}
}
