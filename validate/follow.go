package validate

import (
	"slices"
	"strings"

	"turnwatch/validate/schema"
)

// held is how the arguments of a call are held against the schema of its tool
// while they come in.
type held struct {
	run  *schema.Checker
	tool string // whose schema it is
	n    int64  // bytes of the arguments so far
	none bool   // there is no such tool
}

// heldSize is about how many bytes that takes.
const heldSize = 4 << 10

// follow goes on with the arguments of a call, as far as they are JSON.
func (c *Checker) follow(k *call) {
	h := &k.held
	if h.run == nil && (h.none || k.name == "" || k.foreign) {
		return
	}
	if h.run == nil {
		if h.tool, _ = c.req.find(k.name); h.tool == "" {
			h.none = true
			return
		}
		h.run = c.schema(h.tool).Checker(c.budget)
	}
	if end := k.machine.Offset(); end > h.n {
		h.run.Feed(k.args[h.n:end])
		h.n = end
	}
}

// checked is what the schema says of the arguments, all of which are JSON.
func (j *judged) checked() ([]schema.Violation, schema.Status) {
	h := &j.k.held
	if h.run == nil || h.tool != j.tool || h.n != int64(len(j.k.args)) {
		return j.schema.Check(j.k.args, j.c.budget)
	}
	return h.run.Finish(j.k.args)
}

// certain notes what no way of going on could have mended in arguments that
// were cut. What a parser may have closed behind the cut does not count.
func (j *judged) certain() {
	h := &j.k.held
	if h.run == nil || h.tool != j.tool || j.schema.Wraps(j.k.args) {
		return
	}
	own := int64(len(strings.TrimRight(string(j.k.args), " \t\r\n\"]}")))
	found := slices.DeleteFunc(slices.Clone(h.run.Found()), func(v schema.Violation) bool { return v.At >= own })
	if len(found) > 0 {
		j.violations(found)
	}
}
