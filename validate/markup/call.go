package markup

import "bytes"

// maxLead is how far into a content its call may begin, for what may be left
// of a damaged marker; maxDepth how deep the name of the call may stand.
const (
	maxLead  = 32
	maxDepth = 8
	maxWord  = 128
)

// Call is a call of a declared tool that a content is, as JSON or as an
// expression.
type Call struct {
	Start, End int64 // where it lies; Start is -1 if there is none
	Lead       int   // bytes in front of it that are no space
	Trail      int   // bytes behind it that are no space
	Whole      bool  // it is complete
	Fenced     bool  // backticks stand in front of it
	Listed     bool  // it goes on with a list of calls, of which those before were taken
}

// caller looks for a call.
type caller struct {
	Call
	rules  *Rules
	at     int64 // offset of the next byte
	dead   bool  // the content cannot be a call any more
	behind bool  // a call was taken out of the text in front
	spoken bool  // it is an expression, as code may be
	keyed  bool  // … with named arguments
	stray  bool  // a bracket that nothing opened stands behind the call
	found  bool  // a declared name and arguments belong together
	mode   mode
	lead   [maxLead]byte

	depth   int
	objects [maxDepth]bool // which of the open values are objects
	named   [maxDepth]bool // which of them name a declared tool
	args    [maxDepth]bool // which of them have arguments
	told    [maxDepth]bool // which of them are described, as declarations are

	quote   byte // the string that is open, 0 if none is
	escaped bool
	key     bool // the next string is a key
	sort    sort // of the last key
	word    [maxWord]byte
	n       int // bytes of the word, maxWord+1 if it is longer
}

type mode uint8

const (
	before mode = iota
	inJSON
	inExpression
	behindCall
)

// sort is what a key in an object stands for.
type sort uint8

const (
	plainKey sort = iota
	nameKey
	argsKey
)

func (c *caller) write(p []byte) {
	for _, b := range p {
		if c.dead {
			return
		}
		c.step(b)
		c.at++
	}
}

func (c *caller) step(b byte) {
	switch c.mode {
	case before:
		c.begin(b)
	case inJSON:
		c.json(b)
	case inExpression:
		c.expression(b)
	case behindCall:
		c.trail(b)
	}
}

// begin looks for the beginning of a call.
func (c *caller) begin(b byte) {
	switch {
	case b == '{' || b == '[' && c.n == 0:
		c.start(inJSON)
		c.json(b)
		return
	case b == '(' && c.called():
		return
	}
	if isIdent(b) && c.n < maxWord {
		c.word[c.n] = b
		c.n++
	} else {
		c.n = 0
	}
	if b == ',' && c.behind && c.Lead == 0 && !c.Listed {
		c.Listed = true
		return
	}
	if b == '`' {
		c.Fenced = true
	}
	if b > ' ' && c.Lead < maxLead {
		c.lead[c.Lead] = b
		c.Lead++
	}
	c.dead = c.n == 0 && c.Lead == maxLead // what begins now begins too late
}

// maxStuck is how many letters of a damaged marker may stick to a name.
const maxStuck = 3

// called begins an expression if the word in front of a parenthesis ends in
// the name of a declared tool.
func (c *caller) called() bool {
	for k := 0; k < c.n && k <= maxStuck; k++ {
		if name := c.word[k:c.n]; c.rules.declared(name) {
			c.start(inExpression)
			c.Start -= int64(len(name))
			c.Lead -= len(name)
			c.depth, c.found, c.spoken = 1, true, true
			return true
		}
	}
	return false
}

func (c *caller) start(m mode) {
	c.mode, c.Start, c.n, c.depth = m, c.at, 0, 0
	c.objects, c.named, c.args, c.told = [maxDepth]bool{}, [maxDepth]bool{}, [maxDepth]bool{}, [maxDepth]bool{}
}

// fail gives the beginning up and goes on looking for another one.
func (c *caller) fail(b byte) {
	if c.found || c.at-c.Start > maxLead || c.Lead >= maxLead {
		c.dead = true
		return
	}
	c.lead[c.Lead] = '['
	c.Lead = min(c.Lead+int(c.at-c.Start), maxLead)
	c.mode, c.Start, c.n, c.quote, c.escaped = before, -1, 0, 0, false
	c.begin(b)
}

// json reads a byte of a call in JSON.
func (c *caller) json(b byte) {
	if c.quote != 0 {
		c.inString(b)
		return
	}
	d := c.depth - 1
	switch b {
	case '{', '[':
		if c.depth < maxDepth {
			c.objects[c.depth], c.named[c.depth], c.args[c.depth], c.told[c.depth] = b == '{', false, false, false
		}
		c.depth++
		c.key, c.sort = b == '{', plainKey
	case '}', ']':
		if c.depth--; c.depth == 0 {
			c.close()
		}
		c.key = false
	case '"':
		c.quote, c.n = '"', 0
	case ':':
		c.key = false
	case ',':
		c.key, c.sort = d >= 0 && d < maxDepth && c.objects[d], plainKey
	default:
		if ok := b <= ' ' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b == '-' || b == '+' || b == '.' || b == 'E'; !ok || c.key && b > ' ' || c.depth == 1 && !c.objects[0] && b > ' ' {
			c.fail(b)
		}
	}
}

func (c *caller) inString(b byte) {
	switch {
	case c.escaped:
		c.escaped = false
	case b == '\\':
		c.escaped = true
	case b == c.quote:
		c.quote = 0
		if c.mode == inJSON {
			c.value()
		}
		return
	}
	if c.n < maxWord {
		c.word[c.n] = b
	}
	c.n = min(c.n+1, maxWord+1)
}

// value takes in a string: a key, or the name of the call.
func (c *caller) value() {
	d := c.depth - 1
	if d < 0 || d >= maxDepth || c.n > maxWord {
		return
	}
	word := c.word[:c.n]
	if !c.key {
		if c.sort == nameKey && c.objects[d] && c.rules.declared(word) {
			c.named[d] = true
			c.found = c.found || c.args[d] && !c.told[d]
		}
		return
	}
	switch c.sort = sortOf(word); {
	case c.sort == argsKey:
		c.args[d] = true
		c.found = c.found || c.named[d] && !c.told[d]
	case string(word) == "description":
		c.told[d] = true
		c.found = c.found && !(c.named[d] && c.args[d])
	}
}

func sortOf(key []byte) sort {
	switch string(key) {
	case "name", "tool_name", "tool", "function", "function_name", "action":
		return nameKey
	case "arguments", "parameters", "args", "input", "action_input", "tool_input":
		return argsKey
	}
	return plainKey
}

// expression reads a byte of name(key=value).
func (c *caller) expression(b byte) {
	switch {
	case c.quote != 0:
		c.inString(b)
	case b == '"' || b == '\'':
		c.quote, c.n = b, 0
	case b == '(' || b == '[' || b == '{':
		c.depth++
	case b == '=':
		c.keyed = c.keyed || c.depth == 1
	case b == ')' || b == ']' || b == '}':
		if c.depth--; c.depth == 0 {
			c.close()
		}
	}
}

func (c *caller) close() {
	c.mode, c.Whole, c.End, c.n = behindCall, true, c.at+1, 0
	if !c.found {
		c.dead = true
	}
}

// trail reads what follows the call: another one, or what is left of a marker.
func (c *caller) trail(b byte) {
	if b <= ' ' || b == ',' || b == ';' {
		c.n = 0
		return
	}
	c.stray = c.stray || b == ']'
	if c.Trail++; c.Trail > maxLead {
		c.dead, c.found = true, false
		return
	}
	switch {
	case (b == '{' || b == '[') && c.Trail == 1:
		c.Trail, c.Whole, c.mode, c.depth = 0, false, inJSON, 0
		c.json(b)
	case isIdent(b):
		c.word[c.n] = b
		c.n++
	case b == '(' && c.rules.declared(c.word[:c.n]):
		c.Trail, c.Whole, c.mode, c.depth = c.Trail-c.n-1, false, inExpression, 1
	default:
		c.n = 0
	}
}

// proves reports whether the content is a call and no more than that.
func (c *caller) proves() bool {
	if !c.found || c.Start < 0 || c.rules == nil || !c.rules.Tools {
		return false
	}
	if c.Fenced {
		return c.Whole && c.fence() && !c.rules.Seen.json
	}
	return c.Trail <= 2 && (c.Lead == 0 && (!c.spoken || c.keyed) || c.stray || c.damaged())
}

// fence reports whether nothing but a code fence stands around the call, of a
// kind that calls are put in.
func (c *caller) fence() bool {
	const ticks = "```"
	lead, trail := c.lead[:min(c.Lead, maxLead)], c.Trail
	if code, printed := bytes.CutSuffix(lead, []byte("tool_codeprint(")); printed {
		lead, trail = append(code[:len(code):len(code)], "tool_code"...), trail-1
	}
	if trail != len(ticks) || len(lead) < len(ticks) || string(lead[:len(ticks)]) != ticks {
		return false
	}
	switch string(lead[len(ticks):]) {
	case "tool_code", "tool_call", "tool_calls", "tool":
		return true
	case "", "json":
		return !c.spoken
	}
	return false
}

// damaged reports whether what stands in front looks like the rest of a
// marker.
func (c *caller) damaged() bool {
	for _, b := range c.lead[:min(c.Lead, maxLead)] {
		if b == '<' || b == '>' || b == '[' || b == ']' || b == '|' {
			return true
		}
	}
	return false
}
