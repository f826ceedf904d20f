package validate

import (
	"cmp"
	"slices"
	"strings"

	"turnwatch/validate/schema"
)

// verdict sums up the turn.
func (c *Checker) verdict(how Ending) Verdict {
	switch {
	case c.reason != "":
		return c.unverified(c.reason, "")
	case c.refused():
		return c.rejected()
	case c.fed == 0 && how != Complete:
		return c.unverified(ReasonNoAnswer, "")
	case c.failure.seen && !c.failure.late:
		return c.reported(c.unverified(ReasonUpstreamError, UpstreamError))
	case len(c.choices) == 0 && c.over(how), c.broken && !c.chat:
		return c.unverified(ReasonBodyMalformed, BodyMalformed)
	}
	c.stops(how)
	c.echo()
	v := c.sum()
	v.strange = c.strange || !c.chat
	v.doubt()
	return v
}

// doubt makes nothing clean that was not read as a whole.
func (v *Verdict) doubt() {
	if v.Outcome == Clean && v.strange {
		v.Outcome, v.Reason = Unverified, ReasonBodyMalformed
	}
}

// over reports whether the answer is known to be all there: without a choice it
// is none.
func (c *Checker) over(how Ending) bool {
	return c.done || c.chat && c.form == whole || !c.chat && how == Complete
}

// sum is the verdict that the findings amount to.
func (c *Checker) sum() Verdict {
	c.constrain()
	worst := c.sort()
	for i := range c.signals {
		s := &c.signals[i]
		s.AtMS = float64(c.clk.when(s.Offset)) / 1000
		s.Delta, s.Tokens = c.place.order.when(s.Offset), c.place.reports.when(s.Offset)
	}
	v := c.blank()
	v.Outcome, v.Suspect = worst, c.suspect || len(c.signals) > 0
	v.Checks = families[c.ran()]
	v.Spent, v.Strangers, v.Vendor = c.spent, c.alien, c.vendor()
	return v
}

// ran is which checks ran, as a place among families.
func (c *Checker) ran() (n int) {
	if !slices.ContainsFunc(c.skips, func(s Skip) bool { return s != SchemaPartly }) {
		n |= 1
	}
	if c.weighed {
		n |= 2
	}
	if c.echoed {
		n |= 4
	}
	return n
}

// families are all lists of checks that run, so that no turn needs one of its own.
// They do not change, and have no room for more.
var families = newFamilies()

func newFamilies() (all [8][]Check) {
	for n := range all {
		list := []Check{CheckWire, CheckJSON}
		if n&1 != 0 {
			list = append(list, CheckSchema)
		}
		list = append(list, CheckMarkup, CheckText)
		if n&2 != 0 {
			list = append(list, CheckTokens)
		}
		if n&4 != 0 {
			list = append(list, CheckEcho)
		}
		all[n] = slices.Clip(list)
	}
	return all
}

// stops judges each choice by the way it ended.
func (c *Checker) stops(how Ending) {
	slices.SortStableFunc(c.choices, func(a, b *choice) int { return cmp.Compare(a.index, b.index) })
	open := c.failure.seen || len(c.choices) == 0
	for _, ch := range c.choices {
		c.judge(ch, c.stopped(ch, how))
		open = open || !ch.finished
	}
	if c.failure.seen {
		c.find(TruncatedError, 0, nil, c.failure.at)
		c.blame()
	}
	if c.missing() {
		c.find(cutBy(how), 0, nil, c.fed-1)
		open = true
	}
	if c.form == stream && !c.done && !open {
		c.lint(LintMissingDone)
	}
}

// missing reports whether an answer that was cut lacks choices as a whole.
func (c *Checker) missing() bool {
	return !c.failure.seen && !c.broken && !c.done && (len(c.choices) == 0 || c.form == stream && len(c.choices) < c.req.n)
}

// stopped says why a choice ended before its own end; empty if it did not.
func (c *Checker) stopped(ch *choice, how Ending) Kind {
	if ch.finished {
		return c.reasoned(ch)
	}
	switch {
	case c.failure.seen:
		return TruncatedError
	case c.form == whole || c.done && !ch.open():
		c.lint(LintMissingFinish)
		return ""
	}
	return cutBy(how)
}

func cutBy(how Ending) Kind {
	switch how {
	case ClientGone:
		return TruncatedClientGone
	case ProxyCut:
		return TruncatedProxyCut
	}
	return TruncatedStreamCut
}

// exhausted reports whether the only choice used up the token budget.
func (c *Checker) exhausted() bool {
	return c.usage != nil && c.req.maxTokens > 0 && c.req.n <= 1 && c.usage.CompletionTokens >= c.req.maxTokens
}

// judge judges the calls of a choice that was stopped for a reason, or not.
func (c *Checker) judge(ch *choice, stop Kind) {
	ch.split(stop != "")
	c.identities(ch)
	for i, k := range ch.calls {
		if k.foreign {
			continue
		}
		c.identity(ch, k, stop != "" && i == len(ch.calls)-1)
		if !k.part.absorbed {
			cut := stop != "" && (i == len(ch.calls)-1 || k.open())
			c.judgeArgs(ch, k, cut)
			if cut {
				c.readArgs(ch, k, stop)
			} else {
				c.readArgs(ch, k, "")
			}
		}
	}
	c.readTexts(ch, stop)
	switch {
	case stop != "":
		if stop != TruncatedError || !c.failure.seen {
			c.find(stop, ch.index, ch.unfinished(), c.end(ch))
		}
	case len(ch.calls) == 0 && forCalls(ch.finish) && !c.broken:
		c.find(FinishWithoutCall, ch.index, nil, ch.ended)
	case len(ch.calls) > 0 && c.plain(ch.finish):
		c.lint(LintFinishStop)
	}
	if stop == "" {
		c.weigh(ch)
	}
}

// unfinished is the index of the last call if its arguments are not complete.
func (ch *choice) unfinished() *int {
	if n := len(ch.calls); n > 0 && ch.calls[n-1].open() {
		return ch.calls[n-1].place()
	}
	return nil
}

// end is where a choice was finished, or the last byte of the body.
func (c *Checker) end(ch *choice) int64 {
	if ch.finished {
		return ch.ended
	}
	return c.fed - 1
}

func (c *Checker) judgeArgs(ch *choice, k *call, cut bool) {
	j := judged{c: c, ch: ch, k: k, cut: cut}
	j.tool, _ = c.req.find(k.name)
	if j.tool != "" {
		j.schema = c.schema(j.tool)
	}
	j.arguments()
	if k.copy != nil {
		j.again()
	}
}

// schema is the schema of a declared tool.
func (c *Checker) schema(tool string) *schema.Schema {
	if c.budget == nil {
		c.budget = c.effort.Renew()
	}
	s := c.met(tool)
	if s == nil {
		s = c.req.schema(tool, c.budget)
		c.schemas = append(c.schemas, calledTool{tool, s})
	}
	return s
}

// calledTool is a declared tool that a call of the turn names.
type calledTool struct {
	tool   string
	schema *schema.Schema
}

// met is the schema of a tool that was called before, nil if it was not.
func (c *Checker) met(tool string) *schema.Schema {
	for i := range c.schemas {
		if c.schemas[i].tool == tool {
			return c.schemas[i].schema
		}
	}
	return nil
}

// afford takes from the bytes that may be searched.
func (c *Checker) afford(n int) bool {
	c.look -= n
	return c.look >= 0
}

// sort puts the findings into the order of the table of kinds, and gives them
// what the table says. It returns the worst outcome among them.
func (c *Checker) sort() Outcome {
	worst := Clean
	if len(c.findings) == 0 {
		return worst
	}
	for i := range c.findings {
		f := &c.findings[i]
		info := &table[rank[f.Kind]]
		f.Severity = cmp.Or(f.Severity, info.Severity)
		f.Cause = cmp.Or(f.Cause, info.Cause)
		f.AtMS = float64(c.clk.when(f.Offset)) / 1000
		f.Delta, f.Tokens = c.place.order.when(f.Offset), c.place.reports.when(f.Offset)
		if worse(info.Outcome, worst) {
			worst = info.Outcome
		}
	}
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank[a.Kind], rank[b.Kind]), cmp.Compare(a.Choice, b.Choice),
			cmp.Compare(a.Offset, b.Offset), strings.Compare(a.Path, b.Path))
	})
	return worst
}

// worse reports whether a is worse than b.
func worse(a, b Outcome) bool {
	order := [...]Outcome{Clean, Unverified, Truncated, Corrupted}
	return slices.Index(order[:], a) > slices.Index(order[:], b)
}

// blank is a verdict with all that is no judgement.
func (c *Checker) blank() Verdict {
	v := Verdict{
		Checks: []Check{}, Findings: []Finding{}, FinishReasons: c.extras().finish[:0],
		Lints: c.lints, Usage: c.usage, Calls: c.calls, Skips: c.skips, Deltas: c.place.outputs,
		MaxTokens: c.req.maxTokens, Choices: c.req.n, Thinking: c.thinking,
	}
	v.Findings = append(v.Findings, c.findings...)
	v.Signals, v.Constrained = c.signals, c.req.constrains()
	for _, ch := range c.choices {
		v.FinishReasons = append(v.FinishReasons, ch.finish)
	}
	return v
}

// unverified is the verdict on a turn that cannot be judged; kind, if any, is
// told as its only finding.
func (c *Checker) unverified(r Reason, kind Kind) Verdict {
	c.findings = nil
	if kind != "" {
		c.find(kind, 0, nil, max(c.failure.at, 0))
		c.sort()
	}
	v := c.blank()
	v.Outcome, v.Reason = Unverified, r
	if kind != "" {
		v.Checks = append(v.Checks, CheckWire)
	}
	return v
}
