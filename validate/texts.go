package validate

import (
	"slices"

	"turnwatch/validate/markup"
	"turnwatch/validate/text"
	"turnwatch/validate/wire"
)

// read reads a piece of content or reasoning. It returns it decoded, valid until
// the next piece, and whether it repeats the text before it.
func (c *Checker) read(ch *choice, t *wire.Text, where markup.Where) ([]byte, again) {
	r := ch.texts[where]
	if r == nil {
		r = c.reads(ch, where)
	}
	c.worth = true
	return r.piece(&c.buf, t, c.at(t.At))
}

// reads begins to read a text of a choice.
func (c *Checker) reads(ch *choice, where markup.Where) *reader {
	r := another(&c.spare.reader).begin(c.req, where)
	ch.texts[where] = r
	r.streams, r.bytes = c.form == stream, c.byBytes(ch)
	if where == markup.Content && c.req.body != nil {
		r.echo = &ch.echo
	}
	if where == markup.Content && len(ch.calls) > 0 {
		r.call()
	}
	return r
}

// readTexts judges the texts of a choice; stop says why they were cut off.
func (c *Checker) readTexts(ch *choice, stop Kind) {
	for _, r := range ch.texts {
		if r == nil {
			continue
		}
		if thought := ch.texts[markup.Reasoning]; r.where == markup.Content {
			r.beside = thought != nil && thought.solid
		}
		if r.engine == nil { // it waited
			r.start(c.lastly())
		}
		r.finish()
		for _, l := range c.leaks(r, stop) {
			c.tell(ch, l, r.track.find(l.at))
		}
		r.common = c.usage != nil && !c.byBytes(ch) && 5*c.usage.CompletionTokens > 4*r.spend.tokens && r.text.Common() // fewer tokens lack none
		c.strangers(ch, nil, r.alien.found, len(r.track.buf), r.track.find)
		if r.strayed() {
			c.tell(ch, leak{kind: GarbledText}, r.track.find(r.called))
		}
	}
}

// tell notes a leak in a text of a choice, at an offset of the body.
func (c *Checker) tell(ch *choice, l leak, off int64) {
	switch {
	case l.kind == ReplacementChar && c.found(InvalidUTF8):
	case l.sign || l.kind == MarkupLeakReasoning && len(ch.calls) > 0:
		c.signal(Signal{Kind: l.kind, Choice: ch.index, Offset: off})
	default:
		f := c.find(l.kind, ch.index, nil, off)
		if l.list || c.req.none && (l.kind == MarkupLeakContent || l.kind == CallInText) {
			f.Cause = CauseParser // servers do not look for calls that are not allowed
		}
	}
}

// leak is where a kind was found first.
type leak struct {
	kind Kind
	at   int64 // byte of the decoded texts
	sign bool  // it is no proof
	list bool  // the parser took a call out of a list, and left the rest of it
}

// leaks is what a reader found, the first one of each kind. stop says why the
// text was cut off, if it was.
func (c *Checker) leaks(r *reader, stop Kind) (all []leak) {
	found := func(l leak) {
		for i := range all {
			if had := &all[i]; had.kind == l.kind {
				if had.sign && !l.sign {
					*had = l
				}
				return
			}
		}
		all = append(all, l)
	}
	if r.engine != nil {
		c.told(r, stop, found)
	}
	if r.alien.canary >= 0 {
		found(leak{kind: ForeignContent, at: r.alien.canary})
	}
	return all
}

// told tells of what the engine of a reader found.
func (c *Checker) told(r *reader, stop Kind, found func(leak)) {
	if !c.req.dialect.Raw() {
		c.marks(r, stop, found)
	}
	for _, f := range r.text.Findings() {
		c.allow(&f)
		if k := proven(&f, stop); k != "" {
			found(leak{kind: k, at: f.Start})
		} else if k = seldom(&f); k != "" {
			found(leak{kind: k, at: f.Start, sign: true})
		}
	}
}

// textual are the kinds of what texts do not hold.
var textual = [...]Kind{text.Loop: TokenRepetition, text.Salad: GarbledText, text.Bytes: GarbledText, text.Replacement: ReplacementChar, text.Control: GarbledText}

// proven is the kind of a proof, empty if it is none.
func proven(f *text.Finding, stop Kind) Kind {
	switch {
	case f.Proof && f.Kind == text.Replacement && stop != "" && f.AtEnd && f.Count == 1:
		return "" // the character that was cut
	case f.Proof, f.ProofIfCut && stop == TruncatedLength:
		return textual[f.Kind]
	}
	return ""
}

// seldom is the kind of what is seldom in ordinary text, empty if it is not.
func seldom(f *text.Finding) Kind {
	switch {
	case f.Kind == text.Loop && f.AtEnd && f.End-f.Start >= 512,
		f.Kind == text.Salad && f.Count >= 3, f.Kind == text.Bytes && f.Count >= 2, f.Kind == text.Control:
		return textual[f.Kind]
	}
	return ""
}

// marks turns the markers that a reader found into findings.
func (c *Checker) marks(r *reader, stop Kind, found func(leak)) {
	all := r.marks.Matches()
	for i := range all {
		m := &all[i]
		k := markKind(m)
		switch {
		case m.Class == markup.Thinking && r.beside && m.Role == markup.Closer && m.Orphan && !m.Quoted && !m.Seen:
			found(leak{kind: SpecialTokenLeak, at: m.Start}) // reasoning is taken out of the text, and this was left
		case m.Where == markup.Content && (m.Class == markup.Thinking || c.req.joined && m.Class == markup.Channel):
			c.lint(LintReasoningInContent)
		case m.Class == markup.Thinking:
		case !m.Proof:
			if !m.Quoted && !m.Seen && m.Orphan && m.Family != markup.Sentence && m.Family != markup.Invoke {
				found(leak{kind: k, at: m.Start, sign: true})
			}
		case stop != "" && (m.Partial || r.heads(m) || i == 0 && m.Where == markup.Content && c.unclosed(all)):
			c.lint(LintMarkupInContent)
			return
		default:
			if m.Class == markup.Channel && k == MarkupLeakContent && !anyCall(all) {
				k = SpecialTokenLeak
			}
			found(leak{kind: k, at: m.Start})
		}
	}
	if call, ok := r.marks.Call(); ok && (stop == "" || call.Whole && (call.Lead == 0 || call.Trail > 0)) {
		found(leak{kind: CallInText, at: call.Start, sign: c.req.json && !c.req.must && !c.req.named, list: call.Listed})
	}
}

// anyCall reports whether a marker of a call is among these.
func anyCall(all []markup.Match) bool {
	return slices.ContainsFunc(all, func(m markup.Match) bool { return m.Proof && m.Class == markup.Tool })
}

// maxHead is how long the head of a message may be, in which a turn was cut.
const maxHead = 32

// heads reports whether a marker begins the head of a message in which the text
// ends.
func (r *reader) heads(m *markup.Match) bool {
	return m.Class == markup.Channel && m.Role != markup.Closer && r.track.dec-m.End <= maxHead
}

// unclosed reports whether markers end in the beginning of a call that the end
// of the text cut off: servers hand out as text what they could not read to its
// end, some of them with the whole calls in front of it.
func (c *Checker) unclosed(all []markup.Match) bool {
	open := false
	for i := range all {
		m := &all[i]
		if m.Role == markup.Closer && m.Orphan && !m.Partial || m.Class == markup.Template {
			return false
		}
		open = open || m.Partial || m.Class == markup.Tool && m.Role != markup.Closer && (m.Orphan || m.Role == markup.Control)
	}
	return open && all[0].Class == markup.Tool && all[0].Role != markup.Closer
}

// markKind is the kind of a marker that leaked.
func markKind(m *markup.Match) Kind {
	switch {
	case m.Where == markup.Key || m.Where == markup.Value:
		return MarkupLeakArgs
	case m.Class == markup.Template || m.Class == markup.Channel && m.Family != markup.Harmony:
		return SpecialTokenLeak
	case m.Where == markup.Reasoning:
		return MarkupLeakReasoning
	}
	return MarkupLeakContent
}
