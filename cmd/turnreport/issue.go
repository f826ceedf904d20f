package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"turnwatch/cmd/internal/report"
)

const issueIntro = `turnreport issue writes a bug report, in Markdown, from the evidence of corrupted
turns: symptom, places, configuration, batch, and how to play them again. It holds
nothing of what was said. With -journal it tells rates and causes, too.

  turnreport issue [-journal JOURNAL] EVIDENCE...

EVIDENCE is the folder of a turn or of many. It exits with 2 when some of it could
not be read; the rest is used.

Flags:
`

// texts is a flag that may be repeated.
type texts []string

func (t *texts) String() string { return "" }

// Set adds a value.
func (t *texts) Set(s string) error {
	*t = append(*t, s)
	return nil
}

func issueMain(ctx context.Context, args []string, s std) int {
	var journals texts
	var o report.Options
	since := ""
	f := flag.NewFlagSet("turnreport issue", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Var(&journals, "journal", "`JOURNAL` of the same time, for rates and causes. Repeatable")
	f.StringVar(&since, "since", "", "leave out turns of the journals before `T`")
	f.Uint64Var(&o.Seed, "seed", 1, "`SEED` of the permutations")
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(s.out, issueIntro)
		f.SetOutput(s.out)
		f.PrintDefaults()
		return report.ExitGood
	case err == nil && f.NArg() == 0:
		err = errors.New("nothing to report: name folders of evidence")
	case err == nil && flagsFirst(f.Args()) != nil:
		err = flagsFirst(f.Args())
	case err == nil && since != "":
		o.Since, err = report.ParseTime(since, time.Now())
	}
	if err != nil {
		s.fail(fmt.Errorf("issue: %w; -h tells more", err))
		return report.ExitUnable
	}
	return s.issue(ctx, f.Args(), journals, o)
}

// issue writes the bug report.
func (s std) issue(ctx context.Context, paths, journals []string, o report.Options) int {
	folders, failed, err := report.ReadEvidence(paths)
	for _, e := range failed {
		s.fail(e)
	}
	if err != nil {
		s.fail(err)
		return report.ExitUnable
	}
	var r *report.Report
	if len(journals) > 0 {
		d, err := report.Read(ctx, journals, s.in)
		if err != nil {
			s.fail(err)
			return report.ExitUnable
		}
		r = report.Make(d, o)
	}
	if err := report.Issue(s.out, folders, r); err != nil {
		s.fail(fmt.Errorf("write the bug report: %w", err))
		return report.ExitUnable
	}
	if len(failed) > 0 {
		return report.ExitUnable
	}
	return report.ExitGood
}
