package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"turnwatch/validate/stats"
)

// headline is what must be seen first.
func (r *Report) headline() []string {
	return []string{"CORRUPTION sessions: " + r.Sessions.String(), "CORRUPTION turns:    " + r.Turns.String(), r.meaning()}
}

// meaning says in a sentence what the rate of sessions says.
func (r *Report) meaning() string {
	s := r.Sessions
	switch {
	case s.All == 0:
		return "Nothing was judged: there is nothing to say."
	case s.Corrupted == 0:
		return fmt.Sprintf("No corrupted session among %d. That rules out, at 95%%, that %s of sessions or more are; it cannot tell a smaller share from none.",
			s.All, percent(stats.Upper(0, s.All, 0.95)))
	}
	lo := stats.Lower(s.Corrupted, s.All, 0.95)
	return fmt.Sprintf("Corruption is there. At 95%%, at least %s of sessions are corrupted under these conditions.", percent(lo))
}

// sections are the parts of the report that have something to say, in the order
// in which people ask.
func (r *Report) sections() []section {
	all := []section{r.causes(), r.comparison(), r.batch(), r.kinds(), r.timeline(), r.around(), r.opinions(), r.probed(), r.ranking(), r.tags(), r.length(), r.signs(), r.scores(), r.examples(), r.source()}
	return slices.DeleteFunc(all, func(s section) bool { return len(s.blocks) == 0 })
}

func rateCells(r Rate) []string {
	return []string{fmt.Sprintf("%d/%d", r.Corrupted, r.All), percent(r.Rate), fmt.Sprintf("[%s, %s]", percent(r.Low), percent(r.High))}
}

// levelTable is a table of levels; boots says whether starts of the server are
// worth a column.
func levelTable(name string, levels []Level, boots bool) table {
	t := table{head: []string{name, "sessions", "rate", "95%", "turns", "rate", "p"}, right: "lrrlrrr"}
	if boots {
		t.head, t.right = append(t.head, "boots"), t.right+"r"
	}
	for _, l := range levels {
		row := append([]string{plain(l.Value)}, rateCells(l.Sessions)...)
		row = append(row, fmt.Sprintf("%d/%d", l.Turns.Corrupted, l.Turns.All), percent(l.Turns.Rate), pValue(l.P))
		if boots {
			row = append(row, fmt.Sprint(l.Boots))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// pValue writes a p-value as people read it.
func pValue(p float64) string {
	switch {
	case p >= 0.995:
		return "1"
	case p < 1e-4:
		return fmt.Sprintf("%.0e", p)
	}
	return fmt.Sprintf("%.2g", p)
}

func (r *Report) batch() section {
	s := section{id: "batch", title: "Rate by batch"}
	if len(r.Batch) == 0 {
		return s
	}
	s.para("The batch of a turn is the largest over its decode steps; that of a session the largest of its turns.")
	s.add(chart{func() string { return rateChart(r.Batch) }})
	levels := levelTable("batch", r.Batch, false)
	levels.fold = true
	s.add(levels)
	s.doses(r.Steps)
	return s
}

func (r *Report) length() section {
	s := section{id: "length", title: "Rate by length of the answer"}
	if len(r.Length) == 0 {
		return s
	}
	s.para("Tokens as the server counts them; a session counts under the longest of its turns. Long answers have more chances to be corrupted, and corruption may itself lengthen or cut them.")
	s.add(chart{func() string { return rateChart(r.Length) }})
	levels := levelTable("tokens", r.Length, false)
	levels.fold = true
	s.add(levels)
	return s
}

func (r *Report) kinds() section {
	s := section{id: "kinds", title: "What is wrong"}
	if r.Source.Prometheus {
		s.findingTable(r.Kinds)
	} else {
		s.kindTable(r.Kinds, "of corrupted turns")
	}
	if r.Wrong != nil {
		s.para("Clients that know the right answer also saw wrong ones that are valid, a mistake of the model or silent corruption, in sessions: %s. They are in no other rate.", *r.Wrong)
	}
	if len(r.ByParser) > 0 {
		s.para("Faults of parser or template, which are deterministic and in no rate here (%d turns have no others):", r.Parser)
		s.kindTable(r.ByParser, "of turns with any")
	}
	return s
}

func (r *Report) signs() section {
	s := section{id: "signals", title: "Suspect"}
	if r.Suspect.Turns.Corrupted == 0 {
		return s
	}
	s.para("Signals convict nobody alone. Sessions with any: %s; turns: %s.", r.Suspect.Sessions, r.Suspect.Turns)
	s.kindTable(r.Signals, "of turns with any")
	return s
}

func (s *section) kindTable(kinds []Kind, share string) {
	if len(kinds) == 0 {
		return
	}
	t := table{head: []string{"kind", "turns", "sessions", share, "meaning"}, right: "lrrrl"}
	for _, k := range kinds {
		t.rows = append(t.rows, []string{k.Kind, fmt.Sprint(k.Turns), fmt.Sprint(k.Sessions), percent(k.Share), k.Meaning})
	}
	s.add(t)
}

// findingTable is for counters, which know findings, and not which of them
// share a turn or a session.
func (s *section) findingTable(kinds []Kind) {
	if len(kinds) == 0 {
		return
	}
	t := table{head: []string{"kind", "findings", "of findings", "meaning"}, right: "lrrl"}
	for _, k := range kinds {
		t.rows = append(t.rows, []string{k.Kind, fmt.Sprint(k.Turns), percent(k.Share), k.Meaning})
	}
	s.add(t)
}

func (r *Report) ranking() section {
	s := section{id: "ranking", title: "Single conditions, by session"}
	if len(r.Ranking) == 0 {
		return s
	}
	s.para("How often sessions are corrupted under each condition, those first that differ most from the rest. The p-values are each for itself and not corrected: among many conditions one is small by chance. What a combination explains is said above.")
	s.add(levelTable("condition", r.Ranking, true))
	return s
}

func (r *Report) tags() section {
	s := section{id: "tags", title: "Rate by tag"}
	var constant []string
	for _, t := range r.Tags {
		if len(t.Levels) == 1 {
			constant = append(constant, plain(t.Name+"="+t.Levels[0].Value))
			continue
		}
		levels := levelTable(plain(t.Name), t.Levels, true)
		levels.fold = true
		s.add(chart{func() string { return tagChart(t) }})
		s.add(levels)
		if t.More > 0 {
			s.para("and %d more values of %s", t.More, plain(t.Name))
		}
	}
	if len(constant) > 0 {
		s.para("The same in every session: %s.", strings.Join(constant, ", "))
	}
	return s
}

func (r *Report) timeline() section {
	s := section{id: "time", title: "Over time"}
	if len(r.Timeline.Bins) == 0 {
		return s
	}
	s.para("From %s to %s UTC; %s a row, sessions by when they began.", stamp(r.From), stamp(r.To), width(r.Timeline.Width))
	s.add(chart{func() string { return timeChart(r.Timeline) }})
	t := table{head: []string{"from (UTC)", "sessions", "rate", "95%", "turns", "largest batch"}, right: "lrrlrr", fold: true}
	for i, b := range r.Timeline.Bins {
		for _, e := range r.Timeline.between(i) {
			t.rows = append(t.rows, []string{"▶ " + stamp(e.Time), "", "", e.what(), "", ""})
		}
		if b.Sessions.All > 0 {
			row := append([]string{stamp(b.Begin)}, rateCells(b.Sessions)...)
			t.rows = append(t.rows, append(row, fmt.Sprintf("%d/%d", b.Turns.Corrupted, b.Turns.All), count(b.Batch)))
		}
	}
	s.add(t)
	if r.Timeline.More > 0 {
		s.para("%d more changes of configuration are not shown.", r.Timeline.More)
	}
	return s
}

// width writes a width in seconds as 30s, 5m, 1h.
func width(s float64) string {
	d := time.Duration(s * 1e9).String()
	d = strings.TrimSuffix(d, "m0s")
	if d != time.Duration(s*1e9).String() {
		d += "m"
	}
	if h, ok := strings.CutSuffix(d, "h0m"); ok {
		d = h + "h"
	}
	return d
}

// count writes a number, nothing for 0.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// between returns the events of bin i.
func (t *Timeline) between(i int) (all []Event) {
	from := t.Bins[i].Begin
	to := from.Add(time.Duration(t.Width * 1e9))
	for _, e := range t.Events {
		if !e.Time.Before(from) && e.Time.Before(to) {
			all = append(all, e)
		}
	}
	return all
}

// what says what changed.
func (e Event) what() string {
	if e.Restart != "" {
		return "server started anew: " + plain(e.Restart)
	}
	var parts []string
	for _, c := range e.Changed {
		parts = append(parts, fmt.Sprintf("%s %s→%s", plain(c.Tag), or(plain(c.From), "?"), or(plain(c.To), "?")))
	}
	if len(parts) > 4 {
		parts = append(parts[:4], fmt.Sprintf("and %d more", len(parts)-4))
	}
	return or(strings.Join(parts, ", "), "another configuration")
}

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

func (r *Report) examples() section {
	s := section{id: "examples", title: "Corrupted turns to begin with"}
	if len(r.Examples) == 0 {
		return s
	}
	t := table{head: []string{"time (UTC)", "turn", "request", "batch", "configuration", "finding"}, right: "lllrll"}
	for i, e := range r.Examples {
		if i == shownExamples {
			s.para("The first %d:", shownExamples)
			break
		}
		t.rows = append(t.rows, []string{stamp(e.Time), plain(e.ID), plain(e.RequestID), plain(e.Batch), plain(e.Config), e.what()})
	}
	s.add(t)
	return s
}

// shownExamples is how many corrupted turns are listed for people.
const shownExamples = 10

// what says what is wrong with the turn.
func (e *Example) what() string {
	if len(e.Findings) == 0 {
		return ""
	}
	f := &e.Findings[0]
	s := string(f.Kind)
	if f.Tool != "" {
		s += " in " + f.Tool
	}
	return plain(fmt.Sprintf("%s%s, byte %d", s, f.Path, f.Offset))
}

func (r *Report) source() section {
	s := section{id: "source", title: "What was read"}
	src := &r.Source
	if src.Prometheus {
		s.para("%s that %s counted, from %s; arm %s.", plural(src.Turns, "turn"), plural(src.Replicas, "sidecar"), plain(src.Files[0]), or(r.Arm, "any"))
	} else {
		s.para("%s in %s of %s, %s; arm %s.", plural(src.Turns, "turn"), plural(src.Lines, "line"), plural(len(src.Files), "file"), plural(src.Replicas, "sidecar"), or(r.Arm, "any"))
	}
	var verdicts []string
	for _, c := range r.Verdicts {
		verdicts = append(verdicts, fmt.Sprintf("%d %s", c.Turns, c.Name))
	}
	s.para("Verdicts: %s.", strings.Join(verdicts, ", "))
	if len(r.Reasons) > 0 {
		var all []string
		for _, c := range r.Reasons {
			all = append(all, fmt.Sprintf("%d %s", c.Turns, or(plain(c.Name), "(no reason)")))
		}
		s.para("Unverified, and in no denominator: %s.", strings.Join(all, ", "))
	}
	s.faults(src)
	for _, n := range r.Notes {
		s.para("%s", n)
	}
	return s
}

// faults says what could not be read, and where it stands.
func (s *section) faults(src *Source) {
	var all bullets
	for _, f := range src.Failed {
		all = append(all, "not read: "+plain(f))
	}
	for _, f := range src.Faults {
		all = append(all, plain(fmt.Sprintf("%s: line %d (byte %d): %s", f.File, f.Line, f.Offset, f.Err)))
	}
	if src.Bad > len(src.Faults) {
		all = append(all, fmt.Sprintf("and %d more", src.Bad-len(src.Faults)))
	}
	if src.Bad > 0 {
		s.para("%s cannot be read; the rest is used.", plural(src.Bad, "line"))
	}
	if src.Again > 0 {
		s.para("%s stood in it more than once, by id, and counted once.", plural(src.Again, "turn"))
	}
	if len(src.Loud) > 0 {
		s.para("Left out, because turns have too many values of them: %s.", plain(strings.Join(src.Loud, ", ")))
	}
	if src.TagsLost > 0 {
		s.para("The tags of %s are left out: there are more than %d different configurations.", plural(src.TagsLost, "turn"), maxConfigs)
	}
	if len(all) > 0 {
		s.add(all)
	}
}
