package report

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate/stats"
)

// notEnded says which sessions no counter has yet.
const notEnded = "A session is counted when its first turn is corrupted, or when it has ended without one, which is -session-idle (15m) after its last turn: clean ones of the last minutes are missing, so that the rate of a short time is too high."

// noCause says why there is no explanation.
const noCause = "No cause from here: counters tell how many sessions there were of each kind, batch and configuration, not which session had which tags and how large its batch was together; and what was run when, and on which start of a server, is lost in the sum. Read the journals for that."

// count is what was counted of some turns or sessions, in whole ones.
type counted struct{ bad, all, suspect float64 }

func (c counted) arm() stats.Arm {
	return stats.Arm{K: int(math.Round(c.bad)), N: int(math.Round(c.all))}
}

func (c counted) rate() Rate { return newRate(c.arm()) }

// take takes in what a series of turns or sessions rose by.
func (c *counted) take(r *series, n float64) {
	verdict := r.labels[labelVerdict]
	if verdict == "unverified" {
		return
	}
	c.all += n
	if verdict == "corrupted" && r.labels[labelCause] != "parser" {
		c.bad += n
	}
	if r.labels[labelSuspect] == "true" {
		c.suspect += n
	}
}

// choice is which series count, and when.
type choice struct {
	s            *Series
	keep         func(*series) bool
	since, until time.Time
}

// sum adds what the series of the choice rose by, over all sidecars.
func (c *choice) sum(all []series, f func(r *series, at int64, n float64)) {
	for i := range all {
		r := &all[i]
		if !c.keep(r) {
			continue
		}
		for _, a := range r.added {
			if within(a.at, c.since, c.until) {
				f(r, a.at, a.n)
			}
		}
	}
}

func (c *choice) total(all []series) (n counted) {
	c.sum(all, func(r *series, _ int64, by float64) { n.take(r, by) })
	return n
}

// Make makes the report of the counters.
func (s *Series) Make(o Options) *Report {
	arm := o.Arm
	if arm == "" && slices.ContainsFunc(s.turns, func(r series) bool { return r.labels[labelArm] == string(turn.Live) }) {
		arm = string(turn.Live)
	}
	c := &choice{s: s, since: o.Since, until: o.Until, keep: func(r *series) bool {
		return (arm == "" || r.labels[labelArm] == "" || r.labels[labelArm] == arm) && (o.Model == "" || r.labels[labelModel] == "" || r.labels[labelModel] == o.Model)
	}}
	r := &Report{V: Version, Arm: arm, From: s.since.UTC(), To: s.until.UTC(), Examples: []Example{}, ByParser: []Kind{}, Signals: []Kind{}, Explained: []Explained{}}
	r.Source = Source{Files: []string{s.url}, Replicas: s.targets, Prometheus: true}
	turns, sessions := c.total(s.turns), c.total(s.sessions)
	r.Sessions, r.Turns = sessions.rate(), turns.rate()
	r.Suspect.Sessions = newRate(stats.Arm{K: int(math.Round(sessions.suspect)), N: r.Sessions.All})
	r.Suspect.Turns = newRate(stats.Arm{K: int(math.Round(turns.suspect)), N: r.Turns.All})
	c.verdicts(r)
	r.Kinds = c.kinds(s.findings)
	r.Batch = ordered(c.levels("batch"), batchRanges())
	r.Tags = c.tags()
	r.Ranking = promRanking(r.Tags, r.Batch)
	r.Timeline = c.timeline()
	r.Length, r.Steps = []Level{}, []Dose{}
	r.Scorecard = c.scorecard()
	if !o.A.empty() && !o.B.empty() {
		r.Comparison = s.compare(o)
	}
	r.Notes = []string{noCause, notEnded, "Turns are taken for independent of one another here, which they are not within a session: their intervals are too narrow. Those of sessions that have ended are right."}
	return r
}

func (c *choice) verdicts(r *Report) {
	n := map[string]float64{}
	c.sum(c.s.turns, func(t *series, _ int64, by float64) {
		n[t.labels[labelVerdict]] += by
		if t.labels[labelVerdict] == "corrupted" && t.labels[labelCause] == "parser" {
			n["parser"] += by
		}
	})
	for _, name := range []string{"clean", "corrupted", "truncated", "unverified"} {
		r.Verdicts = append(r.Verdicts, Count{name, int(math.Round(n[name]))})
		r.Source.Turns += int(math.Round(n[name]))
	}
	r.Parser = int(math.Round(n["parser"]))
	reasons := map[string]int{}
	c.sum(c.s.skipped, func(t *series, _ int64, by float64) { reasons[t.labels[labelReason]] += int(math.Round(by)) })
	r.Reasons = byCount(reasons)
}

// kinds counts findings; which of them share a turn is not known.
func (c *choice) kinds(all []series) []Kind {
	n := map[string]float64{}
	table := newKindTable()
	total := 0.0
	c.sum(all, func(r *series, _ int64, by float64) {
		if k := r.labels[labelKind]; r.labels[labelCause] != "parser" && table.corrupts(k) {
			n[k] += by
			total += by
		}
	})
	kinds := []Kind{}
	for k, by := range n {
		kinds = append(kinds, Kind{Kind: k, Meaning: table.meaningOf(k), Turns: int(math.Round(by)), Share: by / total})
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Or(b.Turns-a.Turns, strings.Compare(a.Kind, b.Kind)) })
	return kinds
}

// levels counts by a property of the series.
func (c *choice) levels(name string) []Level {
	sessions, turns := map[string]*counted{}, map[string]*counted{}
	into := func(m map[string]*counted) func(*series, int64, float64) {
		return func(r *series, _ int64, by float64) {
			value := c.s.property(r, name)
			if value == "" || value == "unknown" || value == "none" {
				return
			}
			if m[value] == nil {
				m[value] = new(counted)
			}
			m[value].take(r, by)
		}
	}
	c.sum(c.s.sessions, into(sessions))
	c.sum(c.s.turns, into(turns))
	var all []Level
	for value, n := range sessions {
		l := Level{Value: value, Sessions: n.rate()}
		if t := turns[value]; t != nil {
			l.Turns = t.rate()
		}
		all = append(all, l)
	}
	return list(ranked(all))
}

func ordered(levels []Level, order []string) []Level {
	slices.SortFunc(levels, func(a, b Level) int { return cmp.Compare(slices.Index(order, a.Value), slices.Index(order, b.Value)) })
	return levels
}

// tags counts by model, arm, configuration and what is known of that.
func (c *choice) tags() []Tag {
	names := map[string]bool{"model": true, "arm": true, "fingerprint": true}
	for _, tags := range c.s.configs {
		for k := range tags {
			names[k] = true
		}
	}
	all := []Tag{}
	for name := range names {
		levels := c.levels(name)
		if len(levels) == 0 {
			continue
		}
		all = append(all, Tag{name, levels[:min(len(levels), maxLevels)], max(0, len(levels)-maxLevels)})
	}
	slices.SortFunc(all, func(a, b Tag) int {
		return cmp.Or(boolCompare(len(a.Levels) > 1, len(b.Levels) > 1), cmp.Compare(least(a.Levels), least(b.Levels)), strings.Compare(a.Name, b.Name))
	})
	return all
}

func promRanking(tags []Tag, batch []Level) []Level {
	all := []Level{}
	for _, t := range append(slices.Clone(tags), Tag{Name: "batch", Levels: batch}) {
		for _, l := range t.Levels {
			if len(t.Levels) > 1 {
				l.Value = t.Name + "=" + l.Value
				all = append(all, l)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Level) int { return cmp.Compare(a.P, b.P) })
	return all[:min(len(all), maxRanking)]
}

func (c *choice) timeline() Timeline {
	width := binWidth(c.s.until.Sub(c.s.since))
	t := Timeline{Width: width.Seconds(), Bins: []Bin{}, Events: []Event{}}
	base := c.s.since.UTC().Truncate(width)
	n := int(c.s.until.Sub(base)/width) + 1
	sessions, turns := make([]counted, n), make([]counted, n)
	into := func(m []counted) func(*series, int64, float64) {
		return func(r *series, at int64, by float64) {
			m[min(n-1, max(0, int(time.Duration(at-base.UnixNano())/width)))].take(r, by)
		}
	}
	c.sum(c.s.sessions, into(sessions))
	c.sum(c.s.turns, into(turns))
	for i := range n {
		t.Bins = append(t.Bins, Bin{Begin: base.Add(time.Duration(i) * width), Sessions: sessions[i].rate(), Turns: turns[i].rate()})
	}
	return t
}

// scorecard counts what counters know: calls by our own rules.
func (c *choice) scorecard() *Scorecard {
	card := &Scorecard{}
	card.K2VV.OthersDetail = map[string]int{}
	c.sum(c.s.finish, func(r *series, _ int64, by float64) { card.K2VV.finished(r.labels[labelFinish], int(math.Round(by))) })
	results := map[string]float64{}
	c.sum(c.s.calls, func(r *series, _ int64, by float64) { results[r.labels[labelResult]] += by })
	valid, invalid := int(math.Round(results["valid"])), int(math.Round(results["invalid"]))
	card.Valid = &Share{}
	*card.Valid = newShare(valid, valid+invalid)
	n := c.total(c.s.turns).arm()
	card.Ours.Turns = newShare(n.K, n.N)
	card.MiniMax.FinishCalls = newShare(card.K2VV.ToolCalls, card.K2VV.ToolCalls+card.K2VV.Stop+card.K2VV.Others)
	return card
}

// finished counts choices that ended for a reason.
func (k *K2VV) finished(reason string, n int) {
	switch reason {
	case "stop":
		k.Stop += n
	case toolCalls:
		k.ToolCalls += n
	default:
		k.Others += n
		k.OthersDetail[reason] += n
	}
}

// sessions returns the sessions in the order in which they were counted; of
// those that one scrape added, which nothing tells apart, in a random one.
func (c *choice) sessions(seed uint64) []unit {
	at := map[int64]*counted{}
	c.sum(c.s.sessions, func(r *series, t int64, by float64) {
		if at[t] == nil {
			at[t] = new(counted)
		}
		at[t].take(r, by)
	})
	rng := rand.New(rand.NewPCG(seed, 0))
	var all []unit
	for _, t := range slices.Sorted(maps.Keys(at)) {
		n := at[t].arm()
		from := len(all)
		for i := range n.N {
			u := unit{begin: t}
			if i < n.K {
				u.K = 1
			}
			all = append(all, u)
		}
		rng.Shuffle(n.N, func(i, j int) { all[from+i], all[from+j] = all[from+j], all[from+i] })
	}
	return all
}

// compare sets two choices of the series side by side.
func (s *Series) compare(o Options) *Comparison {
	side := func(sel *Selector) (Side, []unit) {
		c := &choice{s: s, since: sel.since, until: sel.until, keep: func(r *series) bool { return sel.matchSeries(s, r) }}
		n, t := c.total(s.sessions), c.total(s.turns)
		out := Side{Name: sel.Text, Sessions: n.rate(), Turns: t.rate(), Kinds: c.kinds(s.findings)}
		out.Suspect = newRate(stats.Arm{K: int(math.Round(n.suspect)), N: out.Sessions.All})
		return out, c.sessions(o.Seed)
	}
	c := &Comparison{Warnings: []string{}, Margin: o.margin(), Match: []Match{}, Stratified: 1}
	var a, b []unit
	c.A, a = side(&o.A)
	c.B, b = side(&o.B)
	ka, kb := c.A.Sessions.Arm(), c.B.Sessions.Arm()
	c.Contrast = contrast(a, b, c.Margin)
	c.After = 0 // in which order sessions came between two samples is not known
	c.more(ka, kb)
	c.Warnings = append(c.Warnings, "the batches of the two sides are not known together with their sessions: compare at the same load, or read the journals")
	return c
}

func (s *Selector) matchSeries(all *Series, r *series) bool {
	for _, t := range s.terms {
		if all.property(r, t.name) != t.value {
			return false
		}
	}
	return true
}
