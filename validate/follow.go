package validate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"turnwatch/validate/jsonstream"
	"turnwatch/validate/schema"
)

// held is how the arguments of a call are held against the schema of its tool
// while they come in.
type held struct {
	run  *schema.Checker
	tool string // whose schema it is
	n    int64  // bytes of the arguments so far
	none bool   // there is no such tool, or its schema waits for the end
}

// heldSize is about how many bytes that takes.
const heldSize = 4 << 10

// maxFollowed is how long a schema may be that is compiled beside the relay:
// that takes some milliseconds. A longer one waits for the end of the turn.
const maxFollowed = 16 << 10

// follow reads what waits of the arguments of a call, and holds it against the
// schema of its tool as far as it is JSON. Pieces wait as those of a text do,
// until there is enough of them or the answer has ended.
func (c *Checker) follow(k *call) {
	k.machine.Feed(k.args[k.read:])
	k.read = len(k.args)
	h := &k.held
	if h.run == nil && (h.none || k.name == "" || k.foreign) {
		return
	}
	if h.run == nil {
		h.tool, _ = c.req.find(k.name)
		if h.tool == "" || len(c.req.tools[h.tool].parameters) > maxFollowed && c.met(h.tool) == nil {
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

// followAll reads what waits of all arguments.
func (c *Checker) followAll() {
	for _, ch := range c.choices {
		for _, k := range ch.calls {
			c.follow(k)
			if k.copy != nil {
				c.follow(k.copy)
			}
		}
	}
}

// run is the checker that has read the arguments as far as they are JSON.
func (j *judged) run() *schema.Checker {
	h, n := &j.k.held, j.k.machine.Offset()
	if h.run == nil || h.tool != j.tool || h.n != n {
		*h = held{run: j.schema.Checker(j.c.budget), tool: j.tool, n: n}
		h.run.Feed(j.k.args[:n])
	}
	return h.run
}

// checked is what the schema says of the arguments, all of which are JSON.
func (j *judged) checked() ([]schema.Violation, schema.Status) {
	return j.run().Finish(j.k.args)
}

// certain notes what no way of going on could have mended in arguments that
// were cut. What a parser may have closed behind the cut does not count.
func (j *judged) certain() {
	if j.schema == nil || j.schema.Wraps(j.k.args) {
		return
	}
	own := int64(len(strings.TrimRight(string(j.k.args), " \t\r\n\"]}")))
	found := slices.DeleteFunc(slices.Clone(j.run().Found()), func(v schema.Violation) bool { return v.At >= own || v.Class == schema.Type && j.begun(v.At) })
	if len(found) > 0 {
		j.violations(found)
	}
}

// spelled reports whether the arguments, or all but the brace in front, are a
// string that holds what should stand there: so SGLang 0.5.12 ends those of
// DeepSeek V3.2 and V4 that were cut.
func (j *judged) spelled() bool {
	rest, brace := bytes.CutPrefix(bytes.TrimSpace(j.k.args), []byte("{"))
	var text string
	if len(rest) < 2 || rest[0] != '"' || json.Unmarshal(rest, &text) != nil {
		return false
	}
	if brace {
		text = "{" + text
	}
	return strings.HasPrefix(text, "{") && unbroken(text)
}

// begun reports whether the value there is the last one, and a string that
// holds the beginning of another value: a parser takes for text what it cannot
// read to its end.
func (j *judged) begun(at int64) bool {
	if at < 0 || at >= int64(len(j.k.args)) {
		return false
	}
	var text string
	if json.Unmarshal(bytes.TrimRight(j.k.args[at:], " \t\r\n]}"), &text) != nil {
		return false
	}
	return unbroken(text)
}

// unbroken reports whether a text is JSON, as far as it goes.
func unbroken(text string) bool {
	var m jsonstream.Machine
	m.Feed([]byte(text))
	return m.Code() == jsonstream.OK || m.Code() == jsonstream.Open
}
