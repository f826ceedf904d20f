package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"turnwatch/cmd/internal/stress"
)

// print writes the report.
func (v *verdict) print(w io.Writer) error {
	if v.o.json {
		return json.NewEncoder(w).Encode(v.summary())
	}
	r := report{w: w}
	r.run(v.o, v.result)
	for target := range v.o.load.Targets {
		r.target(v, target)
	}
	r.beside(v.result)
	r.conclusion(v)
	r.client(v.result.Client)
	return r.err
}

// report writes lines.
type report struct {
	w   io.Writer
	err error
}

func (r *report) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(r.w, format, args...); err != nil && r.err == nil {
		r.err = fmt.Errorf("write the report: %w", err)
	}
}

// run says what was done.
func (r *report) run(o *runOptions, res *stress.Result) {
	l := &o.load
	r.printf("%d sessions, %s at a time, tasks %s", l.Sessions, ladder(l.Concurrency), l.Tasks.Name)
	if o.scenario != "" {
		r.printf(", scenario %s", o.scenario)
	}
	r.printf("; %d requests in %s\n", res.Requests, took(res.Ended.Sub(res.Began)))
	if res.Stopped != "" {
		r.printf("  ended early: %s\n", res.Stopped)
	}
	if res.Aligned+res.Unaligned > 0 {
		r.printf("  first requests padded to %d tokens: %d sessions; not possible in %d\n", l.Align, res.Aligned, res.Unaligned)
	}
}

func ladder(all []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ", "), "[]")
}

func took(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// target says what came of a target, by concurrency if there were several.
func (r *report) target(v *verdict, target int) {
	all := v.result.Of(target)
	r.printf("\n%s%s\n", [...]string{"A  ", "B  "}[target][:3*btoi(v.two())], all.URL)
	steps := 0
	for _, a := range v.result.Arms {
		if a.Target == target {
			steps++
		}
	}
	for _, a := range v.result.Arms {
		if a.Target == target && steps > 1 && a.Turns.All+a.Cut+a.Unjudged > 0 {
			r.printf("  %3d at a time: %s, batch %s\n", a.Concurrency, a.Sessions.Line("sessions"), size(a))
		}
	}
	r.turns(&all)
	r.batch(&all, v.o.load.Concurrency)
	r.times(&all)
	r.printf("%s\n", all.Sessions.Line("sessions"))
	if all.Unjudged+all.Cut > 0 {
		r.printf("  not counted: %d sessions of which nothing could be judged, %d cut short\n", all.Unjudged, all.Cut)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func size(a *stress.Arm) string {
	if n, _ := a.Largest(); n > 0 {
		return fmt.Sprintf("up to %d", n)
	}
	return "not told"
}

// turns says what came of the turns.
func (r *report) turns(a *stress.Arm) {
	var parts []string
	total := 0
	for class, n := range a.Classes {
		total += n
		if n > 0 || class <= int(stress.Corrupted) {
			parts = append(parts, fmt.Sprintf("%d %s", n, classNames[class]))
		}
	}
	r.printf("  turns   %d: %s\n", total, strings.Join(parts, ", "))
	if len(a.Kinds) > 0 {
		r.printf("  kinds   %s\n", counts(a.Kinds))
	}
	r.optional(a.Suspect, "suspect %d turns, with signs that convict nobody alone\n")
	r.optional(a.Parser, "parser  %d turns with faults that a parser is known for: not counted as corrupted\n")
	r.optional(a.Differ, "sidecar %d turns on which it had another word\n")
	if a.Mistake != "" {
		r.printf("  wrong   for instance %s\n", a.Mistake)
	}
	if a.Failure != "" {
		r.printf("  failed  for instance %s\n", a.Failure)
	}
}

var classNames = [stress.Classes]string{"right", "wrong but valid", "corrupted", "truncated", "left before their end", "failed or not judged"}

func (r *report) optional(n int, format string) {
	if n > 0 {
		r.printf("  "+format, n)
	}
}

// counts writes a count by name, the greatest first.
func counts[K ~string](m map[K]int) string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b K) int {
		if m[a] != m[b] {
			return m[b] - m[a]
		}
		return strings.Compare(string(a), string(b))
	})
	var parts []string
	for _, n := range names {
		parts = append(parts, fmt.Sprintf("%s %d", n, m[n]))
	}
	return strings.Join(parts, ", ")
}

// batch says which batch was achieved, and when none was.
func (r *report) batch(a *stress.Arm, concurrency []int) {
	largest, together := a.Largest()
	wanted := slices.Max(concurrency)
	switch {
	case largest == 0:
		r.printf("  batch   nobody tells it: neither headers nor /v1/loads; up to %d of these requests were under way at a time\n", a.Guessed)
	case largest == 1:
		r.printf("  batch   the server never batched (1, from %s): what needs a batch cannot show here\n", counts(a.Sources))
	default:
		r.printf("  batch   up to %d, %.1f on average (from %s); %.0f%% of turns had company\n", largest, a.Mean(), counts(a.Sources), 100*together)
		if largest < wanted/2 {
			r.printf("          that is far from -concurrency=%d: more sessions or longer answers (-long) fill it\n", wanted)
		}
	}
}

func (r *report) times(a *stress.Arm) {
	if a.First.At(0.5) > 0 {
		r.printf("  times   first byte %.1f ms, 95%% within %.1f; an event %.2f ms, 95%% within %.2f (means of turns)\n",
			a.First.At(0.5), a.First.At(0.95), a.Each.At(0.5), a.Each.At(0.95))
	}
}

func (r *report) beside(res *stress.Result) {
	b := &res.Beside
	total := 0
	for _, n := range b.Classes {
		total += n
	}
	if total > 0 {
		r.printf("\nbeside them, not counted\n")
		r.turns(b)
	}
}

// conclusion says what it all means.
func (r *report) conclusion(v *verdict) {
	r.printf("\n")
	if v.two() {
		r.sentences(v.compare.Says(float64(v.o.margin)))
		r.printf("Both said the same, to the letter, on %d of %d turns.\n", v.result.Same, v.result.Same+v.result.Other)
		return
	}
	all := v.result.Of(0)
	r.sentences(all.Sessions.Says())
	if v.o.baseline.All > 0 {
		r.sentences(all.Sessions.Against(stress.Rate(v.o.baseline)))
	}
	if v.o.ruleOut > 0 {
		r.ruleOut(v)
	}
}

func (r *report) ruleOut(v *verdict) {
	switch {
	case v.ruledOut():
		r.printf("%s is ruled out, however often one looked.\n", v.o.ruleOut.String())
	case v.fixed():
		r.printf("%s is ruled out by a number of sessions that was fixed in advance.\n", v.o.ruleOut.String())
	default:
		r.printf("%s is not ruled out.\n", v.o.ruleOut.String())
	}
}

func (r *report) sentences(all []string) {
	for _, s := range all {
		r.printf("%s\n", s)
	}
}

// client says what the load cost this process, and warns where that was too much.
func (r *report) client(m stress.Meter) {
	r.printf("This client: %.1f%% of a core, %s CPU an event, timers late by up to %s.\n",
		100*m.Share()*float64(m.Cores), m.PerEvent().Round(100*time.Nanosecond), m.Late)
	if m.Short() {
		r.printf("It was short of CPU: times, and how many requests met in a batch, are not the server's alone. Give it more cores, or run it elsewhere.\n")
	}
}
