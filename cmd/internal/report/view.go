package report

import (
	"cmp"
	"slices"

	"turnwatch/validate/stats"
)

// view is a choice of the turns: those that one question is about.
type view struct {
	d    *Data
	rows []*row // by time
	what func(*row) bool
}

// view returns the turns that a filter keeps.
func (d *Data) view(keep func(*row) bool) view {
	v := view{d: d, what: (*row).bad}
	for i := range d.rows {
		if keep(&d.rows[i]) {
			v.rows = append(v.rows, &d.rows[i])
		}
	}
	return v
}

// of returns the view in which what counts is said by f.
func (v view) of(f func(*row) bool) view {
	v.what = f
	return v
}

// keep narrows the view.
func (v view) keep(f func(*row) bool) view {
	n := view{d: v.d, what: v.what}
	for _, r := range v.rows {
		if f(r) {
			n.rows = append(n.rows, r)
		}
	}
	return n
}

// clusters returns the sessions in the order of their first judged turns.
func (v view) clusters() []stats.Cluster {
	at := make(map[uint64]int, len(v.rows)/4)
	var all []stats.Cluster
	for _, r := range v.rows {
		if !r.judged() {
			continue
		}
		i, ok := at[r.session]
		if !ok {
			i = len(all)
			at[r.session] = i
			all = append(all, stats.Cluster{})
		}
		all[i].N++
		if v.what(r) {
			all[i].K++
		}
	}
	return all
}

// sessions returns the rate of sessions, and turns that of their turns.
func (v view) rates() (sessions, turns Rate) {
	return ratesOf(v.clusters())
}

func ratesOf(all []stats.Cluster) (sessions, turns Rate) {
	a := stats.Arm{N: len(all)}
	for _, c := range all {
		if c.K > 0 {
			a.K++
		}
	}
	return newRate(a), clustered(all)
}

// Level is one value of what the turns are grouped by.
type Level struct {
	Value    string `json:"value"`
	Sessions Rate   `json:"sessions"`
	Turns    Rate   `json:"turns"`
	// P is the one-sided exact p-value for "more often corrupted here than
	// elsewhere", by session, not corrected for how many levels there are.
	P     float64 `json:"p"`
	Boots int     `json:"boots,omitempty"` // server starts among these sessions, at least
	first int64
}

// group counts sessions and turns by a property of the turn. A session counts
// under each value that its turns had. An empty value is left out.
func (v view) group(of func(*row) string) []Level {
	type cell struct {
		session uint64
		value   string
	}
	at := make(map[cell]int)
	lists := make(map[string][]stats.Cluster)
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
	return levels(lists)
}

func levels(lists map[string][]stats.Cluster) []Level {
	var all []Level
	var total stats.Arm
	for value, list := range lists {
		l := Level{Value: value}
		l.Sessions, l.Turns = ratesOf(list)
		total.K, total.N = total.K+l.Sessions.Corrupted, total.N+l.Sessions.All
		all = append(all, l)
	}
	for i := range all {
		in := all[i].Sessions.Arm()
		all[i].P = stats.FisherGreater(in, stats.Arm{K: total.K - in.K, N: total.N - in.N})
	}
	slices.SortFunc(all, func(a, b Level) int {
		return cmp.Or(-cmp.Compare(a.Sessions.Rate, b.Sessions.Rate), -cmp.Compare(a.Sessions.All, b.Sessions.All), cmp.Compare(a.Value, b.Value))
	})
	return all
}
