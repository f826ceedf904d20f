package main

import (
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"text/tabwriter"
)

// short is a name for a cell that fits into the id of a session.
func short(cell string) string {
	h := fnv.New32a()
	h.Write([]byte(cell))
	return fmt.Sprintf("c%08x", h.Sum32())
}

// report prints a line for each cell and says how to exit.
func (r *runner) report(w io.Writer, cells []cell, over bool) (int, error) {
	cells = slices.Clone(cells)
	slices.SortFunc(cells, slices.Compare[cell])
	cells = slices.CompactFunc(cells, slices.Equal[cell])
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r.m.factors {
		fmt.Fprintf(t, "%s\t", f.name)
	}
	fmt.Fprintf(t, "boots\tbatch\t\n")
	corrupted, failed, judged := 0, 0, 0
	for _, c := range cells {
		k, n, bad := r.row(t, c)
		corrupted, judged = corrupted+k, judged+n
		if bad {
			failed++
		}
	}
	if err := t.Flush(); err != nil {
		return exitUnable, fmt.Errorf("write the report: %w", err)
	}
	if over {
		fmt.Fprintf(w, "\nNot done: %v.\n", errOver)
	}
	switch {
	case failed > 0:
		return exitUnable, fmt.Errorf("%d cells could not be run; %s has what they said", failed, r.log.Name())
	case over || judged == 0:
		return exitUndecided, nil
	case corrupted > 0:
		return exitCorrupted, nil
	}
	return exitGood, nil
}

// row prints one cell, and a second line for the second target.
func (r *runner) row(t io.Writer, c cell) (corrupted, judged int, failed bool) {
	name := r.m.name(c)
	for target := range 1 + btoi(r.m.TargetB != "") {
		rate, batch := r.notes.played(name, target)
		for _, level := range c {
			fmt.Fprintf(t, "%s\t", level)
		}
		line := rate.Line("sessions")
		if target == 1 {
			line = "B: " + line
		}
		if why := r.notes.failure(name); why != "" {
			line, failed = "failed: "+why, true
		}
		fmt.Fprintf(t, "%d\t%d\t%s\n", r.notes.boots(name), batch, line)
		corrupted, judged = corrupted+rate.Corrupted, judged+rate.All
	}
	return corrupted, judged, failed
}
