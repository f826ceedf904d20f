package report

import (
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
	for _, r := range d.rows {
		if keep(r) {
			v.rows = append(v.rows, r)
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
	spans := v.spans()
	all := make([]stats.Cluster, len(spans))
	for i, s := range spans {
		all[i] = s.Cluster
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
