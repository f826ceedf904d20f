package telemetry

import (
	"context"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// placed is a turn's cell, and the batch that the cell's range is of.
type placed struct {
	cell
	n      int    // 0: not known
	source string // of n
}

// place finds the cell of a turn.
func (m *instruments) place(t *turn.Turn) placed {
	n, source := batchOf(t)
	return placed{cell{m.grade(&t.Verdict), t.Suspect, rangeOf(n)}, n, or(source, none)}
}

// batchOf is the largest batch that the turn was decoded in, and where it is known
// from; 0 where it is not known.
func batchOf(t *turn.Turn) (n int, source string) {
	batch, _ := t.OwnTag("batch")
	n, _ = strconv.Atoi(batch.Value)
	return n, batch.Source
}

// grade is that of a verdict. The parser is to blame only where nothing else is
// there.
func (m *instruments) grade(v *validate.Verdict) grade {
	switch v.Outcome {
	case validate.Clean:
		return gradeClean
	case validate.Truncated:
		return gradeTruncated
	case validate.Unverified:
		return gradeUnverified
	}
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Cause != validate.CauseParser && m.kinds[f.Kind].Outcome == validate.Corrupted {
			return gradeCorrupted
		}
	}
	return gradeParser
}

// measure counts a turn. The context tells which span its exemplars name.
func (m *instruments) measure(ctx context.Context, g *group, p *placed, t *turn.Turn) {
	g.class(g.classOf(p, t)).count(ctx, p.n, t)
	for i := range t.Findings {
		g.finding(ctx, t.Findings[i].Kind, t.Findings[i].Cause, 1)
	}
	for i := range t.Signals {
		g.signal(ctx, t.Signals[i].Kind)
	}
	for _, l := range t.Lints {
		m.lint(ctx, l, 1)
	}
	for _, why := range t.FinishReasons[min(1, len(t.FinishReasons)):] {
		g.finish(finishReason(why)).add(ctx, 1)
	}
	if t.Outcome == validate.Unverified {
		m.skip(ctx, t.Reason, 1)
	}
	m.measureCalls(ctx, g, t)
}

// measureCalls tells calls with a finding from others.
func (m *instruments) measureCalls(ctx context.Context, g *group, t *turn.Turn) {
	if t.Calls == 0 {
		return
	}
	if t.Outcome == validate.Unverified {
		g.unchecked.add(ctx, int64(t.Calls))
		return
	}
	bad := invalidCalls(t)
	if bad > 0 {
		g.invalid.add(ctx, int64(bad))
	}
	if good := t.Calls - bad; good > 0 {
		g.valid.add(ctx, int64(good))
	}
}

func invalidCalls(t *turn.Turn) (n int) {
	for i := range t.Findings {
		f, again := &t.Findings[i], false
		if f.Call == nil {
			continue
		}
		for j := range i {
			e := &t.Findings[j]
			again = again || e.Call != nil && *e.Call == *f.Call && e.Choice == f.Choice
		}
		if !again {
			n++
		}
	}
	return n
}

// shown is what a configuration tells of where it is known from.
type shown struct {
	of     *turn.Config
	at     int    // the first of infoTags that it has; their number where it has none
	source string // of that one
}

func newShown(of *turn.Config) *shown {
	s := &shown{of: of, at: len(infoTags())}
	for i, name := range infoTags() {
		if tag, ok := (&turn.Turn{Config: of}).Tag(name); ok {
			s.at, s.source = i, tag.Source
			break
		}
	}
	return s
}

// shows returns what the configuration of a turn tells, mostly that of the turn before.
func (g *group) shows(t *turn.Turn) *shown {
	s := g.shown.Load()
	if s == nil || s.of != t.Config {
		s = newShown(t.Config)
		g.shown.Store(s)
	}
	return s
}

// configSource is the best source that a configuration tag is from. Without a
// fingerprint there is none.
func (g *group) configSource(t *turn.Turn) string {
	if t.Fingerprint == "" {
		return none
	}
	s := g.shows(t)
	names, source := infoTags(), s.source
	before := names[:s.at]
	for name, tag := range t.OwnTags {
		if i := slices.Index(before, name); i >= 0 {
			before, source = before[:i], tag.Source
		}
	}
	if len(before) < len(names) {
		return source
	}
	if t.From("label") {
		return "label"
	}
	return none
}

// labels are those of a group, and more.
func (g *group) labels(kv ...attribute.KeyValue) []attribute.KeyValue {
	return append(kv, attribute.String(KeyModel, g.key.model), attribute.String(KeyArm, g.key.arm))
}

func (m *instruments) genAILabels(g *group, errorType string) []attribute.KeyValue {
	kv := append(g.labels(attribute.String(AttrOperation, "chat")), m.server...)
	if errorType != "" {
		kv = append(kv, attribute.String(AttrErrorType, errorType))
	}
	return kv
}

// errorType says why a turn has no whole answer; empty where it has. It is one
// of a closed set.
func errorType(t *turn.Turn) string {
	switch {
	case t.Status == 0:
		return "no_answer"
	case t.Status/100 == 4, t.Status/100 == 5:
		return strconv.Itoa(t.Status)
	case t.Ending != validate.Complete:
		return string(t.Ending)
	}
	return ""
}
