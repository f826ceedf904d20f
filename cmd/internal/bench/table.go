package bench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Results are the records of a session, to be printed.
type Results struct {
	Records   []Record
	Scenarios []Scenario
	Targets   []string // in their order
	Base      string   // target that others are held against
}

// of returns what was measured of a target in a scenario.
func (rs *Results) of(scenario, target string) (all []Record) {
	for _, r := range rs.Records {
		if r.Scenario == scenario && r.Target == target && r.Fault == "" {
			all = append(all, r)
		}
	}
	return all
}

// fault is why nothing was measured of it; empty: it was, or was not tried.
func (rs *Results) fault(scenario, target string) string {
	for _, r := range rs.Records {
		if r.Scenario == scenario && r.Target == target && r.Fault != "" {
			return r.Fault
		}
	}
	return ""
}

// middle is the median over rounds.
func middle(rs []Record, f func(*Record) float64) float64 {
	var v []float64
	for i := range rs {
		v = append(v, f(&rs[i]))
	}
	return Median(v)
}

// Ratio is what a target costs, divided by what the base did in the same round:
// the median over rounds, and its interval.
func (rs *Results) Ratio(sc Scenario, target string) (mid, lo, hi float64, rounds int) {
	base := map[int]float64{}
	for _, r := range rs.of(sc.Name, rs.Base) {
		base[r.Round] = r.Cost(sc.PerAnswer)
	}
	var v []float64
	for _, r := range rs.of(sc.Name, target) {
		if b := base[r.Round]; b > 0 {
			v = append(v, r.Cost(sc.PerAnswer)/b)
		}
	}
	lo, hi = Interval(v)
	return Median(v), lo, hi, len(v)
}

// ratio writes it.
func (rs *Results) ratio(sc Scenario, target string) string {
	mid, lo, hi, n := rs.Ratio(sc, target)
	switch {
	case n == 0:
		return "-"
	case target == rs.Base:
		return "1"
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", mid, lo, hi)
}

// Print writes a table for each scenario, and what keeps rows from being there.
func (rs *Results) Print(w io.Writer) {
	for _, sc := range rs.Scenarios {
		fmt.Fprintf(w, "\n%s: %s\n", sc.Name, sc.About)
		unit := "event"
		if sc.PerAnswer {
			unit = "answer"
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(t, "\tCPU µs/%s\t× %s\tfirst byte p50\tp99 ms\tadded p50\tp99\tevent p50\tp99 ms\t%ss/s\tMB\tKiB/stream\terrors\tforeign\tn\t\n", unit, rs.Base, unit)
		for _, name := range rs.Targets {
			rs.row(t, sc, name)
		}
		t.Flush()
		for _, name := range rs.Targets {
			if f := rs.fault(sc.Name, name); f != "" {
				fmt.Fprintf(w, "  %s: not measured in every round: %s\n", name, f)
			}
		}
	}
}

func (rs *Results) row(w io.Writer, sc Scenario, name string) {
	all, direct := rs.of(sc.Name, name), rs.of(sc.Name, "direct")
	if len(all) == 0 {
		return
	}
	m := func(f func(*Record) float64) float64 { return middle(all, f) }
	added := func(f func(*Record) float64) string {
		if len(direct) == 0 || name == "direct" {
			return "-"
		}
		return fmt.Sprintf("%.2f", m(f)-middle(direct, f))
	}
	first50 := func(r *Record) float64 { return r.Seen.First.P50 }
	first99 := func(r *Record) float64 { return r.Seen.First.P99 }
	fmt.Fprintf(w, "%s\t%.1f\t%s\t%.2f\t%.2f\t%s\t%s\t%.2f\t%.2f\t%.0f\t%.0f\t%s\t%d\t%.0f%%\t%d\t\n", name,
		m(func(r *Record) float64 { return r.Cost(sc.PerAnswer) }), rs.ratio(sc, name), m(first50), m(first99), added(first50), added(first99),
		m(func(r *Record) float64 { return r.Seen.Event.P50 }), m(func(r *Record) float64 { return r.Seen.Event.P99 }),
		m(func(r *Record) float64 { return float64(r.units(sc)) / r.Seen.Seconds }),
		m(func(r *Record) float64 { return float64(r.RSS) / 1e6 }), perStream(all, sc), faults(all),
		100*m(func(r *Record) float64 { return r.Foreign }), len(all))
}

func (r *Record) units(sc Scenario) int64 {
	if sc.PerAnswer {
		return r.Seen.Answers
	}
	return r.Seen.Events
}

// perStream is by how much each open stream enlarged the proxy.
func perStream(all []Record, sc Scenario) string {
	if !sc.Stream || sc.Clients < 200 {
		return "-"
	}
	return fmt.Sprintf("%.1f", middle(all, func(r *Record) float64 { return float64(r.RSS-r.RSSBefore) / 1024 / float64(max(r.Seen.Open, 1)) }))
}

func faults(all []Record) (n int64) {
	for _, r := range all {
		n += r.Seen.Errors
	}
	return n
}

// PrintCurve writes one table: a row for each point, a column for each target.
func (rs *Results) PrintCurve(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	unit := "event"
	if rs.Scenarios[0].PerAnswer {
		unit = "answer"
	}
	fmt.Fprintf(t, "CPU µs/%s\t", unit)
	for _, name := range rs.Targets {
		fmt.Fprintf(t, "%s\t", name)
		if name != rs.Base {
			fmt.Fprintf(t, "× %s\t", rs.Base)
		}
	}
	fmt.Fprintln(t)
	for _, sc := range rs.Scenarios {
		rs.point(t, sc)
	}
	t.Flush()
	for _, r := range rs.Records {
		if r.Fault != "" || r.Seen.Errors > 0 {
			fmt.Fprintf(w, "%s, %s, round %d: %d errors %s %s\n", r.Scenario, r.Target, r.Round, r.Seen.Errors, r.Seen.Error, r.Fault)
		}
	}
}

func (rs *Results) point(w io.Writer, sc Scenario) {
	fmt.Fprintf(w, "%s\t", sc.Name)
	for _, name := range rs.Targets {
		all := rs.of(sc.Name, name)
		fmt.Fprintf(w, "%.1f\t", middle(all, func(r *Record) float64 { return r.Cost(sc.PerAnswer) }))
		if name != rs.Base {
			fmt.Fprintf(w, "%s\t", rs.ratio(sc, name))
		}
	}
	fmt.Fprintln(w)
}

// Measured lists the targets of which there is a record, in the order of all.
func Measured(records []Record, all []Target) (names []string) {
	for _, t := range all {
		if slices.ContainsFunc(records, func(r Record) bool { return r.Target == t.Name }) {
			names = append(names, t.Name)
		}
	}
	return names
}
