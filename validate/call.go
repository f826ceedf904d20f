package validate

import (
	"strings"

	"turnwatch/validate/jsonstream"
	"turnwatch/validate/markup"
	"turnwatch/validate/wire"
)

// call is one tool call as it is put together.
type call struct {
	index     int // as the server says, or its place
	id        string
	name      string
	kind      bool // it had a type
	legacy    bool
	foreign   bool   // it is of a type that is not judged
	null      bool   // its arguments came as null
	value     bool   // … as a JSON value
	draft     bool   // … such that others take their place
	reused    bool   // its index was another call's
	part      part   // of a call that was split
	tail      string // the last piece of a name that came in pieces
	unindexed bool   // the server gave it no index
	begin     int64
	named     int64 // where its name ended
	valueAt   int64
	again     int64 // where its name was sent again, -1 if it was not
	last      int64 // its last byte
	args      []byte
	read      int // bytes of them that machine and held were fed with
	machine   jsonstream.Machine
	joiner    wire.Joiner
	trail     trail
	held      held
	copy      *call // its arguments as they were told again, if they differ
}

// place is the index of the call, apart from the call: a finding outlives it.
func (k *call) place() *int {
	index := k.index
	return &index
}

const (
	maxName = 512
	maxID   = 256
)

// call takes in an entry of a list of tool calls; before are those in front of
// it in its list.
func (c *Checker) call(ch *choice, w *wire.Call, before []wire.Call, legacy bool) {
	k := c.target(ch, w, before)
	if k == nil && w.ID.Empty() && w.Name.Empty() && w.Args.Empty() {
		return // it says nothing yet
	}
	c.worth, c.spoke = true, true
	if k != nil && w.Final {
		c.again(k, w)
		return
	}
	if k == nil {
		if k = c.open(ch, w); k == nil {
			c.stop(ReasonTooLarge)
			return
		}
	}
	c.latest.call = k
	k.legacy = k.legacy || legacy
	if ch.finished && (!w.Name.Empty() || !w.Args.Empty() || !w.ID.Empty()) {
		c.late(ch, k.place(), w.At)
	}
	c.identify(k, w)
	k.last = max(k.last, c.at(w.At))
	c.arguments(k, w)
}

// target is the call that an entry goes on with, nil if it begins one.
func (c *Checker) target(ch *choice, w *wire.Call, before []wire.Call) *call {
	if len(ch.calls) == 0 || c.form == whole {
		if !w.Indexed && c.form == stream {
			c.lint(LintMissingIndex)
		}
		return nil
	}
	if w.Final {
		return ch.latest(w.Index)
	}
	if !w.Indexed {
		c.lint(LintMissingIndex)
		if k := ch.calls[len(ch.calls)-1]; !c.anew(k, w) {
			return k
		}
		return nil
	}
	k := ch.latest(w.Index)
	if k == nil || c.anew(k, w) {
		return nil
	}
	for i := range before {
		if before[i].Index == w.Index {
			c.lint(LintDuplicateIndex)
		}
	}
	return k
}

func (ch *choice) latest(index int) *call {
	for i := len(ch.calls) - 1; i >= 0; i-- {
		if ch.calls[i].index == index {
			return ch.calls[i]
		}
	}
	return nil
}

// anew reports whether an entry begins another call than k, whose place it has.
func (c *Checker) anew(k *call, w *wire.Call) bool {
	switch {
	case !w.ID.Empty() && k.id != "" && !w.ID.Is(k.id):
		return true
	case w.Name.Empty() || k.name == "" || c.extends(k, w):
		return false
	case w.Name.Is(k.name):
		return w.ID.Empty() && c.complete(k) && w.Form != wire.ArgsAbsent && c.startsObject(w)
	}
	return true
}

// complete reports whether a call has all its arguments.
func (c *Checker) complete(k *call) bool {
	c.follow(k)
	return len(k.args) > 0 && k.machine.Code() == jsonstream.OK
}

// startsObject reports whether the arguments of an entry are empty or begin an object.
func (c *Checker) startsObject(w *wire.Call) bool {
	s := strings.TrimLeft(w.Args.String(), " \t\r\n")
	return s == "" || s[0] == '{'
}

// extends reports whether an entry brings more of the name of k, which some
// servers send in pieces.
func (c *Checker) extends(k *call, w *wire.Call) bool {
	if len(k.args) > 0 || !c.req.begins(k.name+w.Name.String()) {
		return false
	}
	_, whole := c.req.tools[k.name]
	return !whole || !w.Name.Is(k.name)
}

// open begins a call, nil if there are too many.
func (c *Checker) open(ch *choice, w *wire.Call) *call {
	if c.calls >= maxCalls {
		return nil
	}
	c.calls++
	k := another(&c.spare.call)
	k.index, k.begin, k.again = w.Index, c.at(w.At), -1
	if c.form == whole || !w.Indexed {
		k.index = len(ch.calls)
	}
	k.unindexed = !w.Indexed
	k.reused = c.form == stream && w.Indexed && ch.latest(w.Index) != nil
	ch.calls = append(ch.calls, k)
	for _, r := range ch.texts {
		if r != nil {
			r.bytes = c.byBytes(ch)
		}
	}
	ch.texts[markup.Content].call()
	return k
}

// identify takes in id, type and name.
func (c *Checker) identify(k *call, w *wire.Call) {
	if !w.Type.Empty() {
		k.kind, k.foreign = true, k.foreign || !w.Type.Is("function")
		c.strange = c.strange || k.foreign
	}
	if !w.ID.Empty() {
		if k.id == "" {
			id := w.ID.String()
			k.id = id[:min(len(id), maxID)]
		} else {
			c.lint(LintIDRepeated)
		}
	}
	if w.Name.Empty() {
		return
	}
	end := c.at(w.Name.At + len(w.Name.Raw) - 1)
	switch {
	case k.name == "":
		if len(k.args) > 0 {
			c.lint(LintLateName)
		}
		k.rename(c.req.spell(w.Name), end)
	case c.extends(k, w):
		k.tail = w.Name.String()
		k.rename(k.name+k.tail, end)
	case k.again < 0:
		k.again = end
	}
}

func (k *call) rename(name string, end int64) {
	k.name, k.named = name[:min(len(name), maxName)], end
}

// arguments takes in a piece of the arguments.
func (c *Checker) arguments(k *call, w *wire.Call) {
	switch w.Form {
	case wire.ArgsNull:
		k.null = true
		return
	case wire.ArgsValue:
		if !k.value {
			k.value, k.valueAt = true, c.at(w.Args.At)
		}
	}
	if w.Args.Empty() {
		return
	}
	if k.draft {
		c.argBytes -= len(k.args)
		k.forget()
	}
	k.draft = w.Draft
	was := len(k.args)
	k.args = k.joiner.Append(k.args, w.Args)
	piece := k.args[was:]
	c.argBytes += len(piece)
	if len(k.args) > maxCallArgs || c.argBytes > maxTurnArgs {
		c.stop(ReasonTooLarge)
		return
	}
	at := c.at(w.Args.At)
	k.trail.add(at, len(piece), w.Form == wire.ArgsValue, k.joiner.Odds)
	k.last = at + int64(len(w.Args.Raw)) - 1
	if len(k.args)-k.read > maxWaiting {
		c.follow(k)
	}
}
