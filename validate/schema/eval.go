package schema

// eval is a node at work on an open value. Those of one value lie side by
// side, each behind the one that it came from.
type eval struct {
	node *node
	seat
	level  int  // open values around
	count  int  // elements that contains held for
	bad    int  // the byte of the piece at hand that cannot be
	counts int  // its groups in Checker.counts
	bits   int  // its properties in Checker.bits
	key    span // names that the key may become
	str    [2]span
	chosen choice
	dead   bool // it failed, or what it answers to did
	denied bool // the key at hand was refused already
}

// seat is what an eval is for.
type seat struct {
	up    int // the eval it answers to, -1 for none
	group int
	role  role
	hard  bool // what it refuses is a violation of the whole
	name  bool // it looks at the name of a property
}

// role is what an eval is to the one it answers to.
type role uint8

const (
	must role = iota
	branch
	negated
	test
	then
	otherwise
	depend
	held
)

// choice is how an if came out.
type choice uint8

const (
	unknown choice = iota
	yes
	no
)

// failure is why an eval failed.
type failure struct {
	class Class
	want  mask   // the types allowed, where class is Type
	begin bool   // it refused the type of its own value
	final bool   // nothing more is worth saying of the value
	name  string // the property that is missing
	at    int64
	level int
}

// block is where the evals of a value begin, and what belongs to them.
type block struct{ lo, counts, bits int }

const maxEvals = 4096

func (c *Checker) mark() block { return block{len(c.evals), len(c.counts), len(c.bits)} }

func (c *Checker) release(b block) {
	c.evals, c.counts, c.bits = c.evals[:b.lo], c.counts[:b.counts], c.bits[:b.bits]
}

// spawn sets a node, and all that looks at the same value with it, to work on
// a value of a type. It reports whether that can still hold.
func (c *Checker) spawn(n *node, at seat, kind mask) bool {
	if n == nil || n.plain && at.role == must && n.types&kind == kind {
		return true // there is nothing to watch
	}
	if !c.pay(1) {
		return false
	}
	if len(c.evals) >= maxEvals {
		c.status, c.many = TooComplex, true
		return false
	}
	i := len(c.evals)
	level := len(c.frames)
	if at.name {
		level--
	}
	c.evals = append(c.evals, eval{node: n, seat: at, level: level, bad: maxInstance})
	if f, bad := n.refuses(kind); bad {
		c.fail(i, f)
		return false
	}
	if !n.plain {
		c.prepare(i, n)
		c.spread(i, n, kind)
	}
	return c.status == Ready && !c.evals[i].dead
}

// refuses says why a value of a type cannot do.
func (n *node) refuses(kind mask) (failure, bool) {
	switch {
	case n.never:
		return failure{class: Additional, final: true}, true
	case n.types&kind == 0:
		return failure{class: Type, want: n.types, begin: true, final: true}, true
	}
	for _, en := range n.enums {
		if en.types&kind == 0 {
			return failure{class: Value, final: true}, true
		}
	}
	return failure{}, false
}

func (c *Checker) prepare(i int, n *node) {
	e := &c.evals[i]
	if n := len(n.groups); n > 0 {
		e.counts = len(c.counts)
		for range 2 * n {
			c.counts = append(c.counts, 0)
		}
	}
	if n := len(n.names); n > 0 && c.pay(n/512) {
		e.bits = len(c.bits)
		for range (n + 63) / 64 {
			c.bits = append(c.bits, 0)
		}
	}
}

// spread sets the subschemas that look at the same value to work.
func (c *Checker) spread(i int, n *node, kind mask) {
	if !c.pay(len(n.must) / 8) {
		return
	}
	hard, name := c.evals[i].hard, c.evals[i].name
	down := func(n *node, r role, group int) bool {
		c.spawn(n, seat{up: i, group: group, role: r, hard: hard && r == must, name: name}, kind)
		return c.status == Ready && !c.evals[i].dead
	}
	for _, m := range n.must {
		if !down(m, must, 0) {
			return
		}
	}
	for g := range n.groups {
		c.counts[c.evals[i].counts+2*g] = int32(len(n.groups[g].branches))
		for _, b := range n.groups[g].branches {
			if !down(b, branch, g) {
				return
			}
		}
	}
	for _, m := range n.not {
		if !down(m, negated, 0) {
			return
		}
	}
	if n.cond != nil && !(down(n.cond.then, then, 0) && down(n.cond.otherwise, otherwise, 0) && down(n.cond.test, test, 0)) {
		return
	}
	if kind == tObject {
		for g := range n.depends {
			if !down(n.depends[g].node, depend, g) {
				return
			}
		}
	}
}

// fail ends an eval, and all that this decides.
func (c *Checker) fail(i int, f failure) {
	if !c.pay(1) {
		return
	}
	if c.evals[i].name {
		f = failure{class: Value, final: f.final}
	}
	if f.at = c.at; !c.evals[i].dead {
		f.level = c.evals[i].level
		c.pass(i, f)
	}
}

// pass hands a failure upwards until it decides nothing more.
func (c *Checker) pass(i int, f failure) {
	for i >= 0 {
		e := &c.evals[i]
		if e.dead || c.status != Ready {
			return
		}
		if e.hard {
			e.dead = e.dead || f.final
			c.report(e, f)
			return
		}
		c.remember(i, f)
		c.kill(i)
		if i, f = c.decides(e, f); i >= 0 && !c.pay(1) {
			return
		}
	}
}

// remember keeps why an eval failed.
func (c *Checker) remember(i int, f failure) {
	for len(c.fails) <= i {
		c.fails = append(c.fails, failure{})
	}
	c.fails[i] = f
}

// kill ends an eval and all that answer to it.
func (c *Checker) kill(i int) {
	c.evals[i].dead = true
	if !c.pay((len(c.evals) - i) / 8) {
		return
	}
	for j := i + 1; j < len(c.evals); j++ {
		if up := c.evals[j].up; up >= i && c.evals[up].dead {
			c.evals[j].dead = true
		}
	}
}

// decides is the eval that fails because e did, and why; -1 if none does.
func (c *Checker) decides(e *eval, f failure) (int, failure) {
	up := e.up
	f.final = f.final && !c.evals[up].hard
	switch e.role {
	case must:
		if e.level != c.evals[up].level {
			f.begin = false
		}
		return up, f
	case branch:
		left := &c.counts[c.evals[up].counts+2*e.group]
		if *left--; *left == 0 {
			return up, c.agreed(up, e.group)
		}
	case test:
		c.evals[up].chosen = no
		return c.consequence(up, otherwise)
	case otherwise:
		if c.evals[up].chosen == no {
			return up, f
		}
	case then:
		if c.evals[up].chosen == yes {
			return up, f
		}
	case depend:
		if c.has(up, c.evals[up].node.depends[e.group].slot) {
			return up, f
		}
	}
	return -1, f
}

// consequence is up if its then or else, which has to hold, has failed.
func (c *Checker) consequence(up int, r role) (int, failure) {
	c.pay((len(c.evals) - up) / 8)
	for j := up + 1; j < len(c.evals); j++ {
		if e := &c.evals[j]; e.up == up && e.role == r && e.dead {
			return up, c.fails[j]
		}
	}
	return -1, failure{}
}

// has reports whether the object of an eval had a property.
func (c *Checker) has(i, slot int) bool {
	return c.bits[c.evals[i].bits+slot/64]&(1<<(slot%64)) != 0
}

// agreed says why alternatives failed. Those that refuse the type of the value
// were not meant; if the rest is one, its failure counts, and if all failed
// for one class, the first does.
func (c *Checker) agreed(up, group int) failure {
	all := failure{class: Type, begin: true, at: c.at, level: c.evals[up].level}
	c.pay((len(c.evals) - up) / 8)
	var meant failure
	count, alike := 0, true
	for j := up + 1; j < len(c.evals); j++ {
		e := &c.evals[j]
		if e.up != up || e.role != branch || e.group != group {
			continue
		}
		if f := c.fails[j]; f.class == Type && f.begin {
			all.want |= f.want
			continue
		} else if count == 0 {
			meant = f
		} else {
			alike = alike && f.class == meant.class
		}
		count++
	}
	switch {
	case count == 0:
		return all
	case count > 1 && !alike:
		return failure{class: Other, at: c.at, level: c.evals[up].level}
	}
	meant.begin = false
	return meant
}

// succeed hands upwards that an eval held.
func (c *Checker) succeed(i int) {
	e := &c.evals[i]
	if e.up < 0 || c.evals[e.up].dead {
		return
	}
	up := e.up
	switch e.role {
	case branch:
		p := &c.evals[up]
		held := &c.counts[p.counts+2*e.group+1]
		if *held++; *held == 2 && p.node.groups[e.group].one {
			c.fail(up, failure{class: Other})
		}
	case negated:
		class := Other
		if e.node.pattern != nil {
			class = Value
		}
		c.fail(up, failure{class: class})
	case test:
		c.evals[up].chosen = yes
		if i, f := c.consequence(up, then); i >= 0 {
			c.pass(i, f)
		}
	case held:
		p := &c.evals[up]
		if p.count++; p.node.maxHeld >= 0 && p.count == p.node.maxHeld+1 {
			c.fail(up, failure{class: Value})
		}
	}
}
