package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"turnwatch/validate/stats"
)

// Each cell of a search is decided at this level, against this share that is there
// without the fault: five or ten cells together then err in few searches.
const (
	cellLevel = 0.01
	noise     = 0.01
)

// present says what is known of the fault in a cell.
type present int

const (
	unknown present = iota
	there
	absent
)

// search finds, by halving, the factors that must be at their first level for the
// corruption to be there. It takes about d·log2(n) cells for d such factors of n.
//
// A. Zeller and R. Hildebrandt, Simplifying and isolating failure-inducing input,
// IEEE Transactions on Software Engineering 28 (2002), 183–200, for what is kept
// flipped; halving as in group testing, D.-Z. Du and F. K. Hwang, Combinatorial Group
// Testing and Its Applications (2000).
type search struct {
	test    func(flipped []int) (present, error)
	flipped []int // factors at their second level, with which the fault is still there
	needed  []int
	open    []int // factors that nothing is known of, for a cell was not decided
}

// run looks at n factors, once it is known that the fault is there with none flipped.
func (s *search) run(n int) error {
	var all []int
	for i := range n {
		all = append(all, i)
	}
	return s.resolve(all)
}

// resolve sorts factors of which nothing is known.
func (s *search) resolve(some []int) error {
	if len(some) == 0 {
		return nil
	}
	switch p, err := s.test(append(slices.Clone(s.flipped), some...)); {
	case err != nil:
		return err
	case p == there:
		s.flipped = append(s.flipped, some...)
		return nil
	case p == unknown:
		s.open = append(s.open, some...)
		return nil
	}
	return s.within(some)
}

// within sorts factors of which at least one is needed.
func (s *search) within(some []int) error {
	if len(some) == 1 {
		s.needed = append(s.needed, some[0])
		return nil
	}
	left, right := some[:len(some)/2], some[len(some)/2:]
	switch p, err := s.test(append(slices.Clone(s.flipped), left...)); {
	case err != nil:
		return err
	case p == there:
		s.flipped = append(s.flipped, left...)
		return s.within(right)
	case p == unknown:
		s.open = append(s.open, some...)
		return nil
	}
	if err := s.within(left); err != nil {
		return err
	}
	return s.resolve(right)
}

// adapt searches instead of running every cell.
func (r *runner) adapt(ctx context.Context, stdout io.Writer) (int, error) {
	for _, f := range r.m.factors {
		if len(f.levels) < 2 {
			return exitUnable, fmt.Errorf("the matrix: factors: %s: -adaptive needs two levels, the suspect first", f.name)
		}
	}
	var tried []cell
	s := &search{test: func(flipped []int) (present, error) {
		c := r.flip(flipped)
		tried = append(tried, c)
		return r.decide(ctx, c)
	}}
	p, err := s.test(nil)
	if err == nil && p == there {
		err = s.run(len(r.m.factors))
	}
	if err != nil && err != errOver {
		return exitUnable, err
	}
	code, failed := r.report(stdout, tried, err == errOver)
	if failed != nil || err == errOver {
		return code, failed
	}
	return r.concludes(stdout, s, p), nil
}

// flip is the cell with some factors at their second level.
func (r *runner) flip(some []int) cell {
	var c cell
	for i, f := range r.m.factors {
		c = append(c, f.levels[map[bool]int{true: 1}[slices.Contains(some, i)]])
	}
	return c
}

// decide runs a cell until it is known whether the fault is there, or its sessions
// are used up.
func (r *runner) decide(ctx context.Context, c cell) (present, error) {
	name := r.m.name(c)
	known := func() present {
		rate := r.notes.inOrder(name)
		return r.o.known(rate.Corrupted, rate.All)
	}
	if p := known(); p != unknown {
		return p, nil
	}
	err := r.cell(ctx, c, 1, 1, func() bool { return known() != unknown })
	return known(), err
}

func (o *matrixOptions) known(k, n int) present {
	limit := -math.Log(cellLevel)
	switch {
	case n == 0:
	case (stats.Prior{}).LogEAbove(k, n, min(noise, float64(o.detect)/2)) >= limit:
		return there
	case (stats.Prior{}).LogEBelow(k, n, float64(o.detect)) >= limit:
		return absent
	}
	return unknown
}

// concludes says what the search found.
func (r *runner) concludes(w io.Writer, s *search, p present) int {
	switch {
	case p == absent:
		fmt.Fprintf(w, "\nWith every factor at its first level %s of sessions or more are ruled out: there is nothing to search for.\n", r.o.detect.String())
		return exitGood
	case p == unknown:
		fmt.Fprintf(w, "\nUndecided whether the fault is there at all: raise sessions in the matrix.\n")
		return exitUndecided
	}
	fmt.Fprintf(w, "\nThe corruption needs %s.\n", r.list(s.needed, 0, " ∧ "))
	if len(s.flipped) > 0 {
		fmt.Fprintf(w, "It is there all the same with %s.\n", r.list(s.flipped, 1, ", "))
	}
	if len(s.open) > 0 {
		fmt.Fprintf(w, "Undecided: %s; raise sessions in the matrix.\n", r.list(s.open, 0, ", "))
		return exitUndecided
	}
	fmt.Fprintf(w, "Each cell was decided at the level %g; that the factors matter together was taken for granted.\n", cellLevel)
	return exitCorrupted
}

// list names factors and one of their levels.
func (r *runner) list(some []int, level int, sep string) string {
	if len(some) == 0 {
		return "none of the factors"
	}
	slices.Sort(some)
	var parts []string
	for _, i := range some {
		parts = append(parts, r.m.factors[i].name+"="+r.m.factors[i].levels[level])
	}
	return strings.Join(parts, sep)
}
