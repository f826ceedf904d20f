package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"turnwatch/cmd/internal/report"
)

const intro = `turnreport reads journals and says how often turns were corrupted, under which
conditions, and what that proves:

  turnreport [flags] JOURNAL...

A JOURNAL is a file that turnwatch writes (its rotated files are read with it), a
folder of such files, or - for standard input; compressed with gzip or not. Each
journal is taken for one sidecar. Lines that cannot be read are counted and
located, the rest is used.

With -prometheus the counters that a Prometheus, VictoriaMetrics, Mimir or Thanos
keeps are read instead: rates, comparisons and a scorecard, but no cause.

With -a and -b two choices of turns are compared: conditions joined by commas,
such as arm=candidate, fingerprint=1a2b3c4d, model=M, TAG=VALUE, since=T, until=T.
T is a date, a time as 2026-01-31T15:04:05Z, or how long ago, as 36h or 7d.

It exits with 0 when what was judged is sound, 1 when a session is corrupted (of
two choices: B is worse than A), 2 when it could not run or an input could not be
read, 3 when nothing was judged (nothing is decided).
`

// options are the flags.
type options struct {
	json, markdown bool
	html           string
	k2vv           string
	since, until   string
	a, b           string
	confirm        string
	report         report.Options
	prom           promOptions
	paths          []string
}

func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("turnreport", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	f.BoolVar(&o.markdown, "markdown", false, "print the report as Markdown")
	f.StringVar(&o.html, "html", "", "also write the report to `FILE`, a page that needs nothing else")
	f.StringVar(&o.k2vv, "k2vv", "", "write results.jsonl and summary.json, as K2-Vendor-Verifier does, into `FOLDER`")
	f.StringVar(&o.report.Arm, "arm", "", "`ARM` of the turns: live, control, candidate or probe (default: live, or all where none is)")
	f.StringVar(&o.report.Model, "model", "", "`MODEL` of the turns (default: all)")
	f.StringVar(&o.since, "since", "", "leave out turns before `T`")
	f.StringVar(&o.until, "until", "", "leave out turns from `T` on")
	f.StringVar(&o.a, "a", "", "`CHOICE` of turns to compare with -b")
	f.StringVar(&o.b, "b", "", "`CHOICE` of turns that is judged relative to -a")
	f.Float64Var(&o.report.Margin, "margin", 0.05, "`SHARE` of sessions; a difference that lies within is called none")
	f.StringVar(&o.confirm, "confirm", "", "keep sessions from `T` on out of the search for causes, and let them confirm or refute it")
	f.Uint64Var(&o.report.Seed, "seed", 1, "`SEED` of the permutations")
	f.IntVar(&o.report.Permutations, "permutations", 0, "`NUMBER` of permutations at most (0: 1000)")
	o.prom.flags(f)
	return f
}

// parse reads the flags.
func (o *options) parse(args []string, now time.Time) (*flag.FlagSet, error) {
	f := o.flags()
	if err := f.Parse(args); err != nil {
		return f, err
	}
	o.paths = f.Args()
	switch {
	case o.json && o.markdown:
		return f, errors.New("-json and -markdown exclude one another")
	case (o.a == "") != (o.b == ""):
		return f, errors.New("-a and -b need one another")
	case o.report.Margin <= 0 || o.report.Margin >= 1:
		return f, errors.New("-margin must lie between 0 and 1")
	case o.report.Permutations < 0:
		return f, errors.New("-permutations must not be negative")
	case len(o.paths) == 0 && o.prom.url == "":
		return f, errors.New("nothing to read: name journals, or -prometheus")
	}
	return f, errors.Join(flagsFirst(o.paths), o.checkPrometheus(), o.times(now))
}

// flagsFirst finds a flag behind a name, where it would pass for one. A lone - is
// standard input.
func flagsFirst(names []string) error {
	for _, name := range names {
		if len(name) > 1 && name[0] == '-' {
			return fmt.Errorf("%s stands behind a name: flags come first", name)
		}
	}
	return nil
}

// times reads what is said of moments, and the choices, that may hold some.
func (o *options) times(now time.Time) error {
	for _, t := range []struct {
		flag, text string
		to         *time.Time
	}{{"-since", o.since, &o.report.Since}, {"-until", o.until, &o.report.Until}, {"-confirm", o.confirm, &o.report.Confirm}} {
		if t.text == "" {
			continue
		}
		at, err := report.ParseTime(t.text, now)
		if err != nil {
			return fmt.Errorf("%s: %w", t.flag, err)
		}
		*t.to = at
	}
	if o.a == "" {
		return nil
	}
	var err error
	if o.report.A, err = report.ParseSelector(o.a, now); err != nil {
		return fmt.Errorf("-a: %w", err)
	}
	if o.report.B, err = report.ParseSelector(o.b, now); err != nil {
		return fmt.Errorf("-b: %w", err)
	}
	return nil
}

// reportMain is turnreport without a command.
func reportMain(ctx context.Context, args []string, s std) int {
	var o options
	switch f, err := o.parse(args, time.Now()); {
	case errors.Is(err, flag.ErrHelp):
		help(f, s.out)
		return report.ExitGood
	case err != nil:
		s.fail(fmt.Errorf("%w; -h tells more", err))
		return report.ExitUnable
	}
	r, err := o.read(ctx, s.in)
	if err != nil {
		s.fail(err)
		return report.ExitUnable
	}
	if err := o.write(r, s.out); err != nil {
		s.fail(fmt.Errorf("write the report: %w", err))
		return report.ExitUnable
	}
	for _, f := range r.Source.Failed {
		s.fail(errors.New(f))
	}
	return r.Exit()
}

// read makes the report of what the flags name.
func (o *options) read(ctx context.Context, in io.Reader) (*report.Report, error) {
	if o.prom.url != "" {
		return o.counters(ctx, time.Now())
	}
	d, err := report.Read(ctx, o.paths, in)
	if err != nil {
		return nil, err
	}
	if o.k2vv != "" {
		if err := report.WriteK2VV(d, o.report, o.k2vv); err != nil {
			return nil, err
		}
	}
	return report.Make(d, o.report), nil
}

// write writes the report in the forms that were asked for.
func (o *options) write(r *report.Report, w io.Writer) error {
	if o.html != "" {
		if err := writeFile(o.html, r.HTML); err != nil {
			return err
		}
	}
	switch {
	case o.json:
		return r.JSON(w)
	case o.markdown:
		return r.Markdown(w)
	}
	return r.Text(w)
}

// writeFile writes a file that its owner alone may read: it names sessions.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func help(f *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, intro, "\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  turnreport %s %s\n        %s\n", c.name, c.args, c.help)
	}
	fmt.Fprint(w, "\nFlags:\n")
	f.SetOutput(w)
	f.PrintDefaults()
}
