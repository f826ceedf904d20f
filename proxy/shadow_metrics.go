package proxy

import (
	"maps"
	"math"
	"slices"

	"turnwatch/proxy/pairs"
	"turnwatch/proxy/turn"
	"turnwatch/validate/stats"
)

// ShadowMetrics returns what became of shadow traffic, and what its pairs say. It is
// empty without.
func (s *Server) ShadowMetrics() []Metric {
	if s.shadow == nil {
		return nil
	}
	return append(s.shadow.armMetrics(), pairMetrics(s.shadow.book.Report())...)
}

// armLabel is the label of an arm.
const armLabel = "turnwatch_arm"

// armMetrics tell of the arms.
func (sh *shadow) armMetrics() []Metric {
	offered := Metric{Name: "turnwatch_shadow_offered_total"}
	paired := Metric{Name: "turnwatch_shadow_paired_total"}
	dropped := Metric{Name: "turnwatch_shadow_dropped_total"}
	failed := Metric{Name: "turnwatch_shadow_failed_total"}
	waiting := Metric{Name: "turnwatch_shadow_waiting"}
	running := Metric{Name: "turnwatch_shadow_running"}
	paused := Metric{Name: "turnwatch_shadow_paused"}
	for _, a := range sh.arms {
		name := string(a.Arm)
		offered.add(float64(a.offered.Load()), armLabel, name)
		paired.add(float64(a.paired.Load()), armLabel, name)
		dropped.each(a.dropped.counts(shadowDrops()...), "reason", armLabel, name)
		failed.each(a.failed.counts(shadowFails()...), "reason", armLabel, name)
		waiting.add(float64(len(a.queue)), armLabel, name)
		running.add(float64(a.running.Load()), armLabel, name)
		paused.add(one(a.health.off()), armLabel, name, "reason", dropBackoff)
		paused.add(one(a.overloaded()), armLabel, name, "reason", dropMaxBatch)
	}
	return []Metric{offered, paired, dropped, failed, waiting, running, paused}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// add adds a series whose labels are names and values in turn.
func (m *Metric) add(v float64, labels ...string) {
	s := Sample{Value: v}
	for pair := range slices.Chunk(labels, 2) {
		s.Labels = append(s.Labels, Label{pair[0], pair[1]})
	}
	m.Series = append(m.Series, s)
}

// each adds a series for each count, under one more label.
func (m *Metric) each(counts map[string]int64, label string, labels ...string) {
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		m.add(float64(counts[k]), append(slices.Clone(labels), label, k)...)
	}
}

// pairMetrics tell of the comparisons: counts of all, and what the current ones prove.
func pairMetrics(r pairs.Report) []Metric {
	count := Metric{Name: "turnwatch_shadow_pairs_total"}
	votes := Metric{Name: "turnwatch_shadow_votes_total"}
	prompt := Metric{Name: "turnwatch_shadow_prompt_mismatches_total"}
	for _, c := range slices.Concat(r.Current, r.Earlier) {
		labels := append(labelsOf(&c), "sglang_config_fingerprint", c.Print)
		q := &c.Corrupted
		count.each(map[string]int64{string(turn.BothClean): int64(q.Clean), string(turn.Both): int64(q.Both), string(turn.Unjudged): int64(q.Unjudged),
			string(turn.Only(c.Arm)): int64(q.First), string(turn.Only(c.Against)): int64(q.Second)}, "outcome", labels...)
		votes.add(float64(q.Votes[0]), append(slices.Clone(labels), "worse", string(c.Arm))...)
		votes.add(float64(q.Votes[1]), append(slices.Clone(labels), "worse", string(c.Against))...)
		prompt.add(float64(c.Differ.Prompt), labelsOf(&c)...)
	}
	return append([]Metric{count, votes, prompt}, evidence(r.Current)...)
}

func labelsOf(c *pairs.Comparison) []string {
	return []string{"gen_ai_request_model", c.Model, armLabel, string(c.Arm), "against", string(c.Against)}
}

// evidence tells what the current comparisons prove.
func evidence(current []pairs.Comparison) []Metric {
	e := Metric{Name: "turnwatch_shadow_log10_e"}
	suspect := Metric{Name: "turnwatch_shadow_suspect_log10_e"}
	diff := Metric{Name: "turnwatch_shadow_difference"}
	word := Metric{Name: "turnwatch_shadow_word"}
	for i := range current {
		c := &current[i]
		with := func(more ...string) []string { return append(labelsOf(c), more...) }
		e.add(math.Log10(c.Corrupted.EWorse), with("worse", string(c.Arm))...)
		e.add(math.Log10(c.Corrupted.EBetter), with("worse", string(c.Against))...)
		suspect.add(math.Log10(c.Suspect.EWorse), with("worse", string(c.Arm))...)
		suspect.add(math.Log10(c.Suspect.EBetter), with("worse", string(c.Against))...)
		diff.add(c.Corrupted.Low, with("bound", "low")...)
		diff.add(c.Corrupted.Seen, with("bound", "seen")...)
		diff.add(c.Corrupted.High, with("bound", "high")...)
		for _, w := range []stats.Word{stats.Worse, stats.Better, stats.Same, stats.Undecided, stats.NotComparable} {
			word.add(one(w == c.Word), with("word", string(w))...)
		}
	}
	return []Metric{e, suspect, diff, word}
}
