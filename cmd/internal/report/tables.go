package report

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"

	"turnwatch/validate/stats"
)

// Kind is one kind of corruption, or of signals.
type Kind struct {
	Kind     string  `json:"kind"`
	Meaning  string  `json:"meaning"`
	Turns    int     `json:"turns"` // of counters the findings
	Sessions int     `json:"sessions"`
	Share    float64 `json:"share"` // of the turns that have any; a turn may have several. Of counters, of the findings
}

// kindsOf counts the turns and sessions that have each kind, the most frequent
// first.
func (v view) kindsOf(set func(*row) uint64) []Kind {
	var turns [64]int
	sessions := map[uint64]uint64{}
	any := 0
	for _, r := range v.rows {
		m := set(r)
		if m == 0 {
			continue
		}
		any++
		sessions[r.session] |= m
		each(m, func(b int) { turns[b]++ })
	}
	var by [64]int
	for _, m := range sessions {
		each(m, func(b int) { by[b]++ })
	}
	all := []Kind{}
	for b, n := range turns {
		if n > 0 {
			all = append(all, Kind{v.d.kinds.name(b), v.d.kinds.meaning(b), n, by[b], float64(n) / float64(any)})
		}
	}
	slices.SortStableFunc(all, func(a, b Kind) int { return cmp.Compare(b.Turns, a.Turns) })
	return all
}

// each calls f with every bit of m.
func each(m uint64, f func(bit int)) {
	for ; m != 0; m &= m - 1 {
		f(bits.TrailingZeros64(m))
	}
}

// Tag is a tag and its values, the worst first.
type Tag struct {
	Name   string  `json:"name"`
	Levels []Level `json:"levels"`
	More   int     `json:"more,omitempty"` // values that are left out
}

// maxLevels bounds the values of a tag that are shown; a tag of more than
// manyLevels tells turns apart rather than configurations, and is left out.
const (
	maxLevels  = 12
	manyLevels = 200
)

// tags counts the units by each tag, those first that say most.
func (d *Data) tags(units []unit) []Tag {
	all := []Tag{}
	for _, name := range d.tagNames(units) {
		levels := tallied(units, func(u *unit) string { return d.configs.value(u.config, name) })
		if len(levels) > manyLevels {
			continue
		}
		t := Tag{Name: name, Levels: levels[:min(len(levels), maxLevels)]}
		t.More = len(levels) - len(t.Levels)
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b Tag) int {
		return cmp.Or(boolCompare(len(a.Levels) > 1, len(b.Levels) > 1), cmp.Compare(least(a.Levels), least(b.Levels)))
	})
	return all
}

// boolCompare puts true first.
func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func least(levels []Level) float64 {
	p := 1.0
	for _, l := range levels {
		p = min(p, l.P)
	}
	return p
}

// tagNames lists the tags of the units' configurations.
func (d *Data) tagNames(units []unit) []string {
	seen, names := map[int32]bool{}, map[string]bool{}
	for i := range units {
		c := units[i].config
		if c < 0 || seen[c] {
			continue
		}
		seen[c] = true
		for _, t := range d.configs.all[c].tags {
			names[t.name] = true
		}
	}
	all := make([]string, 0, len(names))
	for n := range names {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// ranges counts by a number of the turn: sessions under the largest of their
// turns, turns under their own.
func (v view) ranges(units []unit, order []string, ofUnit func(*unit) string, ofRow func(*row) string) []Level {
	levels := tallied(units, ofUnit)
	turns := v.turnsBy(ofRow)
	for i := range levels {
		levels[i].Turns = clustered(turns[levels[i].Value])
	}
	slices.SortFunc(levels, func(a, b Level) int {
		return cmp.Compare(slices.Index(order, a.Value), slices.Index(order, b.Value))
	})
	return levels
}

// turnsBy counts the turns of each session by a property of the turn.
func (v view) turnsBy(of func(*row) string) map[string][]stats.Cluster {
	type cell struct {
		session uint64
		value   string
	}
	at, lists := map[cell]int{}, map[string][]stats.Cluster{}
	for _, r := range v.rows {
		value := of(r)
		if value == "" || !r.judged() {
			continue
		}
		c := cell{r.session, value}
		i, ok := at[c]
		if !ok {
			i = len(lists[value])
			at[c] = i
			lists[value] = append(lists[value], stats.Cluster{})
		}
		lists[value][i].N++
		if v.what(r) {
			lists[value][i].K++
		}
	}
	return lists
}

// byBatch is the dose and the response.
func (v view) byBatch(units []unit) []Level {
	return v.ranges(units, batchRanges(), func(u *unit) string { return batchRange(u.batch) }, func(r *row) string { return batchRange(r.batch) })
}

// byLength counts by the tokens of the answer, which the server reports.
func (v view) byLength(units []unit) []Level {
	return v.ranges(units, lengthRanges(), func(u *unit) string { return lengthRange(u.tokens) }, func(r *row) string { return lengthRange(r.tokens) })
}

// batchRanges are the ranges that batches are counted under, as in the metrics.
func batchRanges() []string {
	return []string{"1", "2-4", "5-8", "9-16", "17-32", "33-64", "65-128", "129+"}
}

// batchRange returns the range of a batch, "" if it is not known.
func batchRange(n int32) string {
	if n < 1 {
		return ""
	}
	return rangeOf(int(n), 1, 4, 8, 16, 32, 64, 128)
}

// lengthRanges are the ranges that lengths of answers are counted under.
func lengthRanges() []string {
	return []string{"1-16", "17-64", "65-256", "257-1024", "1025-4096", "4097-16384", "16385+"}
}

// lengthRange returns the range of a number of tokens, "" if it is not known.
func lengthRange(n int32) string {
	if n < 1 {
		return ""
	}
	return rangeOf(int(n), 16, 64, 256, 1024, 4096, 16384)
}

// rangeOf returns the range that n is in, of those that end with ends.
func rangeOf(n int, ends ...int) string {
	from := 1
	for _, to := range ends {
		if n <= to {
			if from == to {
				return strconv.Itoa(to)
			}
			return strconv.Itoa(from) + "-" + strconv.Itoa(to)
		}
		from = to + 1
	}
	return strconv.Itoa(from) + "+"
}

// ranking lists what single tags, and batches from a size up, say of the
// sessions: the least p first, whether it means anything or not.
func (d *Data) ranking(units []unit, tags []Tag) []Level {
	all := []Level{}
	for _, t := range tags {
		if len(t.Levels)+t.More < 2 || slices.Contains(bootTags(), t.Name) {
			continue
		}
		for _, l := range t.Levels {
			l.Value = t.Name + "=" + l.Value
			all = append(all, l)
		}
	}
	all = append(all, thresholds(units, "batch", func(u *unit) int32 { return u.batch })...)
	slices.SortStableFunc(all, func(a, b Level) int {
		return cmp.Or(cmp.Compare(a.P, b.P), -cmp.Compare(a.Sessions.Rate, b.Sessions.Rate))
	})
	return all[:min(len(all), maxRanking)]
}

// maxRanking bounds the ranking.
const maxRanking = 20

// thresholds counts the units from each power of two up.
func thresholds(units []unit, name string, of func(*unit) int32) (all []Level) {
	for from := int32(2); from <= 256; from *= 2 {
		const yes, no = "y", "n"
		levels := tallied(units, func(u *unit) string {
			switch n := of(u); {
			case n < 0:
				return ""
			case n >= from:
				return yes
			}
			return no
		})
		if len(levels) < 2 {
			continue
		}
		i := slices.IndexFunc(levels, func(l Level) bool { return l.Value == yes })
		l := levels[i]
		l.Value = name + "≥" + strconv.Itoa(int(from))
		all = append(all, l)
	}
	return all
}
