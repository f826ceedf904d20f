package validate

import (
	"bytes"

	"turnwatch/validate/jsonstream"
)

// open reports whether a choice has a call whose arguments are not complete.
func (ch *choice) open() bool {
	for _, k := range ch.calls {
		if k.open() {
			return true
		}
	}
	return false
}

// open reports whether the arguments may go on.
func (k *call) open() bool {
	return len(bytes.TrimSpace(k.args)) == 0 || k.machine.Code() == jsonstream.Open
}

// part says what a call is within a call that was split.
type part struct {
	head     bool // the first of the parts, which has the name
	absorbed bool // its arguments are to be read with the others only
}

// split notes which calls were spread over several entries: a named one and the
// nameless ones behind it, whose arguments together are one object. One
// nameless call that has all the arguments is none: it lost its name.
func (ch *choice) split(cut bool) {
	for i := 0; i < len(ch.calls); i++ {
		end := i + 1
		for end < len(ch.calls) && ch.calls[end].name == "" {
			end++
		}
		tail := ch.calls[i+1 : end]
		if ch.calls[i].name == "" || len(tail) == 0 || len(tail) == 1 && len(ch.calls[i].args) == 0 || !joins(ch.calls[i:end], cut) {
			continue
		}
		for n := i; n < end; n++ {
			ch.calls[n].part = part{head: n == i, absorbed: true}
		}
	}
}

// joins reports whether the arguments of calls are one object together, or the
// beginning of one if the turn was cut.
func joins(calls []*call, cut bool) bool {
	var m jsonstream.Machine
	for _, k := range calls {
		if m.End() > 0 && len(k.args) > 0 {
			return false
		}
		m.Feed(k.args)
	}
	return m.Lead() == '{' && (m.Code() == jsonstream.OK || cut && m.Code() == jsonstream.Open)
}

// identities looks for what two calls of a choice have in common but may not.
func (c *Checker) identities(ch *choice) {
	seen := map[string]bool{}
	for _, k := range ch.calls {
		if k.id == "" {
			continue
		}
		if seen[k.id] && k.name != "" {
			c.find(DuplicateCallID, ch.index, k.place(), k.begin).Tool = c.declared(k)
		}
		seen[k.id] = true
		if c.req.used(k.id) {
			c.lint(LintIDReused)
		}
	}
}

func (c *Checker) declared(k *call) string {
	name, _ := c.req.find(k.name)
	return name
}

// identity judges index, id and name of a call; cut says that it is the last
// one of a turn that was cut.
func (c *Checker) identity(ch *choice, k *call, cut bool) {
	p := k.part
	note := func(kind Kind, off int64) { c.find(kind, ch.index, k.place(), off).Tool = c.declared(k) }
	if !k.legacy && k.id == "" && !p.absorbed && c.req.dialect.Identified() {
		c.lint(LintMissingID)
	}
	if !k.legacy && !k.kind && !p.absorbed && c.req.dialect.Typed() {
		c.lint(LintMissingType)
	}
	if k.reused && (p.head || !p.absorbed) {
		note(CallIndexCollision, k.begin)
	}
	if p.head {
		note(CallSplit, k.begin)
	}
	if k.again >= 0 {
		note(NameRepeated, k.again)
	}
	if k.name == "" {
		if !cut && !c.nameless(ch) {
			note(CallMissingName, k.last)
		}
		return
	}
	c.name(ch, k, cut)
}

// nameless reports whether a choice was already found to have a nameless call:
// one tells it all.
func (c *Checker) nameless(ch *choice) bool {
	for i := range c.findings {
		if f := &c.findings[i]; f.Kind == CallMissingName && f.Choice == ch.index {
			return true
		}
	}
	return false
}

// name judges a call's name against what the request offers.
func (c *Checker) name(ch *choice, k *call, cut bool) {
	declared, exact := c.req.find(k.name)
	note := func(kind Kind) *Finding {
		f := c.find(kind, ch.index, k.place(), k.named)
		f.Tool = declared
		return f
	}
	half := cut && len(k.args) == 0 && c.req.begins(k.name)
	switch {
	case c.req.none && !c.req.others:
		note(UnsolicitedCall).Cause = CauseParser // templates that ignore tool_choice
	case len(c.req.tools) == 0 && !c.req.others:
		note(UnsolicitedCall)
	case declared == "" && !c.req.others && !half:
		note(UnknownTool)
	case declared != "" && !exact:
		c.suspect = true
	}
	if !exact && !wellFormed(k.name) {
		note(ToolNameMalformed)
	}
}

// wellFormed reports whether a function may have this name.
func wellFormed(name string) bool {
	if name == "" || len(name) > 128 {
		return false
	}
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case r == '_', r == '-', r == '.', r == ':':
		default:
			return false
		}
	}
	return true
}
