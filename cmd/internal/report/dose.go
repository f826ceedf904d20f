package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"turnwatch/validate/stats"
)

// batches is how many ranges batches are counted under.
const batches = 8

// Dose is how often turns went bad in a range of batches, for each decode step
// spent there: the exposure of turns whose batch changes while they decode.
type Dose struct {
	Batch  string  `json:"batch"`
	Events int     `json:"events"` // turns whose first bad byte was made in such a batch
	Steps  int64   `json:"steps"`  // of turns of which every step is known
	Rate   float64 `json:"per_thousand_steps"`
	Low    float64 `json:"low"` // exact 95% interval of a Poisson rate
	High   float64 `json:"high"`
}

// stepsOf reads decode steps by range, as 1:12,5-8:40. What cannot be true is
// left out.
func stepsOf(s string) (n [batches]uint16) {
	if s == "" {
		return n
	}
	ranges := batchRanges()
	for part := range strings.SplitSeq(s, ",") {
		name, steps, _ := strings.Cut(part, ":")
		i := slices.Index(ranges, name)
		k, err := strconv.Atoi(steps)
		if i >= 0 && err == nil && k > 0 {
			n[i] = uint16(min(k, math.MaxUint16))
		}
	}
	return n
}

// doses counts the judged turns whose steps are known.
func (v view) doses() []Dose {
	var steps [batches]int64
	var events [batches]int
	ranges := batchRanges()
	for _, r := range v.rows {
		if !r.judged() || r.steps == [batches]uint16{} {
			continue
		}
		for i, n := range r.steps {
			steps[i] += int64(n)
		}
		if i := slices.Index(ranges, batchRange(r.onsetBatch)); i >= 0 && v.what(r) {
			events[i]++
		}
	}
	all := []Dose{}
	for i, n := range steps {
		if n == 0 {
			continue
		}
		t := float64(n) / 1000
		lo, hi := stats.Poisson(events[i], t, 0.95)
		all = append(all, Dose{ranges[i], events[i], n, float64(events[i]) / t, lo, hi})
	}
	return all
}

// doses is the table of them.
func (s *section) doses(all []Dose) {
	if len(all) == 0 {
		return
	}
	s.para("Where each decode step is known: turns that went bad in a batch of that range, for a thousand steps spent in it.")
	t := table{head: []string{"batch of the step", "went bad", "steps", "per 1,000 steps", "95%"}, right: "lrrrl"}
	for _, d := range all {
		t.rows = append(t.rows, []string{d.Batch, strconv.Itoa(d.Events), strconv.FormatInt(d.Steps, 10), digits(d.Rate, 3), "[" + digits(d.Low, 2) + ", " + digits(d.High, 2) + "]"})
	}
	s.add(t)
}
