package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"turnwatch/cmd/internal/bench"
)

// base is what others are held against.
const base = "nginx"

// line is one of -json: the setting first, then measurements.
type line struct {
	Setting *bench.Setting `json:",omitempty"`
	Record  *bench.Record  `json:",omitempty"`
}

func (o *options) compare(ctx context.Context, stdout, stderr io.Writer) error {
	scenarios, err := pick(bench.Scenarios(), o.scenarios, func(s bench.Scenario) string { return s.Name })
	if err != nil {
		return err
	}
	rs, err := o.measure(ctx, scenarios, stdout, stderr)
	if err != nil {
		return err
	}
	rs.Print(stdout)
	return differed(rs)
}

// differed tells whether a byte did.
func differed(rs *bench.Results) error {
	for _, r := range rs.Records {
		if strings.HasPrefix(r.Target, "turnwatch") && (r.Seen.Errors > 0 || r.Fault != "") {
			return errFound
		}
	}
	return nil
}

// curves lists the names of what cost is measured against.
func curves() []string { return slices.Sorted(maps.Keys(bench.Curves())) }

func (o *options) curve(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) != 1 || bench.Curves()[args[0]] == nil {
		return fmt.Errorf("curve takes one of %s", strings.Join(curves(), ", "))
	}
	if o.only == "" {
		o.only = "nginx,turnwatch-relay,turnwatch"
	}
	rs, err := o.measure(ctx, bench.Curves()[args[0]], stdout, stderr)
	if err != nil {
		return err
	}
	rs.PrintCurve(stdout)
	return differed(rs)
}

// pick takes what names names, in their order; "all" and "" are everything.
func pick[T any](all []T, names string, name func(T) string) (some []T, err error) {
	if names == "all" || names == "" {
		return all, nil
	}
	for want := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(v T) bool { return name(v) == want })
		if i < 0 {
			return nil, fmt.Errorf("no %q; -h lists them", want)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// measure measures what was asked for in scenarios.
func (o *options) measure(ctx context.Context, scenarios []bench.Scenario, stdout, stderr io.Writer) (*bench.Results, error) {
	targets, err := o.targets(stdout)
	if err != nil {
		return nil, err
	}
	keep, done, err := o.recorder(targets, stdout)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	rs := &bench.Results{Scenarios: scenarios, Base: base}
	s := bench.Session{Targets: targets, Scenarios: scenarios, Rounds: o.rounds, Seed: o.seed, Serve: []string{self, "serve"},
		Record: func(r bench.Record) {
			rs.Records = append(rs.Records, r)
			keep(line{Record: &r})
			fmt.Fprintf(stderr, "round %d of %d: %s, %s: %.1f µs of CPU an event %s\n", r.Round+1, o.rounds, r.Scenario, r.Target, r.Cost(false), r.Fault)
		}}
	err = errors.Join(s.Run(ctx), done())
	rs.Targets = bench.Measured(rs.Records, targets)
	return rs, err
}

// targets are those that can be run. What cannot is told.
func (o *options) targets(stdout io.Writer) (here []bench.Target, err error) {
	all, err := pick(bench.Targets(o.programs), o.only, func(t bench.Target) string { return t.Name })
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if missing := t.Missing(); missing != "" {
			fmt.Fprintln(stdout, "not measured:", missing)
			continue
		}
		here = append(here, t)
	}
	if len(here) == 0 {
		return nil, errors.New("nothing is here to be measured")
	}
	return here, nil
}

// recorder describes the setting and opens the file of -json.
func (o *options) recorder(targets []bench.Target, stdout io.Writer) (keep func(line), done func() error, err error) {
	setting := bench.NewSetting(targets, bench.Commit(o.programs["turnwatch"]))
	fmt.Fprintln(stdout, setting)
	if o.json == "" {
		return func(line) {}, func() error { return nil }, nil
	}
	f, err := os.OpenFile(o.json, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("open -json: %w", err)
	}
	keep = func(l line) {
		if e := json.NewEncoder(f).Encode(l); e != nil && err == nil {
			err = e
		}
	}
	keep(line{Setting: &setting})
	return keep, func() error { return errors.Join(err, f.Close()) }, nil
}

// table prints what -json wrote.
func (o *options) table(files []string, stdout io.Writer) error {
	rs := &bench.Results{Base: base}
	for _, file := range files {
		if err := read(rs, file, stdout); err != nil {
			return err
		}
	}
	rs.Targets = bench.Measured(rs.Records, bench.Targets(nil))
	rs.Scenarios = slices.DeleteFunc(bench.Scenarios(), func(sc bench.Scenario) bool { return !holds(rs, sc) })
	rs.Print(stdout)
	for _, name := range curves() {
		points := slices.DeleteFunc(bench.Curves()[name], func(sc bench.Scenario) bool { return !holds(rs, sc) })
		if len(points) > 0 {
			fmt.Fprintln(stdout)
			(&bench.Results{Records: rs.Records, Scenarios: points, Targets: rs.Targets, Base: base}).PrintCurve(stdout)
		}
	}
	return nil
}

func holds(rs *bench.Results, sc bench.Scenario) bool {
	return slices.ContainsFunc(rs.Records, func(r bench.Record) bool { return r.Scenario == sc.Name })
}

func read(rs *bench.Results, file string, stdout io.Writer) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var l line
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		if l.Setting != nil {
			fmt.Fprintln(stdout, l.Setting)
		}
		if l.Record != nil {
			rs.Records = append(rs.Records, *l.Record)
		}
	}
	return nil
}
