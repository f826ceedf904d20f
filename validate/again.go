package validate

import (
	"bytes"
	"hash/maphash"
	"slices"

	"turnwatch/validate/jsonstream"
	"turnwatch/validate/wire"
)

// Some protocols tell the arguments of a call twice: piece by piece, and again
// when the call is done. Clients take the one or the other. Both are judged,
// each for itself, and what is wrong with both is told once. Where nothing is
// wrong with either but they are not the same, neither is known to be the
// model's: that makes no verdict. It is a lint, and suspect.

// again takes in an entry that tells a call again.
func (c *Checker) again(k *call, w *wire.Call) {
	if k.id == "" {
		id := w.ID.String()
		k.id = id[:min(len(id), maxID)]
	}
	if !w.Name.Empty() {
		end := c.at(w.Name.At + len(w.Name.Raw) - 1)
		switch {
		case k.name == "":
			k.rename(w.Name.String(), end)
		case !w.Name.Is(k.name) && k.again < 0:
			k.again = end
		}
	}
	if len(k.args) == 0 || k.draft {
		c.arguments(k, w)
		return
	}
	if w.Args.Empty() || k.copy != nil || c.same(k, w.Args) {
		return
	}
	k.copy = &call{index: k.index, last: c.at(w.At)}
	c.arguments(k.copy, w)
}

// same reports whether the arguments of a call are this text.
func (c *Checker) same(k *call, t wire.Text) bool {
	var j wire.Joiner
	c.buf = j.Append(c.buf[:0], t)
	return bytes.Equal(c.buf, k.args)
}

// forget drops the arguments of a call, in whose place others come.
func (k *call) forget() {
	k.args, k.trail, k.machine, k.joiner = k.args[:0], trail{}, jsonstream.Machine{}, wire.Joiner{}
	k.value, k.null, k.read, k.held = false, false, 0, held{}
}

// news reports whether there is a call among these that is not told again.
func news(calls []wire.Call) bool {
	return slices.ContainsFunc(calls, func(k wire.Call) bool { return !k.Final })
}

// again judges the arguments of a call as they were told again.
func (j *judged) again() {
	h := wire.NewHasher(maphash.MakeSeed())
	if h.JSON(j.k.args) == h.JSON(j.k.copy.args) {
		return
	}
	j.c.lint(LintCopiesDiffer)
	if !j.twice() {
		j.c.suspect = true
	}
}

// twice judges what was told again, and reports whether there is a finding in
// the call.
func (j *judged) twice() bool {
	was := j.c.findings
	twin, copied := *j.k, j.k.copy
	twin.args, twin.trail, twin.machine, twin.last = copied.args, copied.trail, copied.machine, copied.last
	twin.held = copied.held
	twin.value, twin.valueAt, twin.null = copied.value, copied.valueAt, copied.null
	k := *j
	k.k = &twin
	k.arguments()
	now := j.c.findings
	j.c.findings = now[:len(was)]
	for _, f := range now[len(was):] {
		if !slices.ContainsFunc(was, f.repeats) {
			j.c.findings = append(j.c.findings, f)
		}
	}
	return slices.ContainsFunc(j.c.findings, func(f Finding) bool {
		return f.Choice == j.ch.index && f.Call != nil && *f.Call == j.k.index
	})
}

// repeats reports whether another finding says the same of the same call.
func (f Finding) repeats(g Finding) bool {
	return f.Kind == g.Kind && f.Path == g.Path && f.Choice == g.Choice && g.Call != nil && *f.Call == *g.Call
}
