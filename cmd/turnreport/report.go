package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"turnwatch/cmd/internal/report"
)

const intro = `turnreport reads journals and says how often turns were corrupted, under which
conditions, and what that proves:

  turnreport [flags] JOURNAL...

A JOURNAL is a file that turnwatch writes (its rotated files are read with it), a
folder of such files, or - for standard input; compressed with gzip or not. Each
journal is taken for one sidecar.
`

// reportMain is turnreport without a command.
func reportMain(ctx context.Context, args []string, s std) int {
	f := flag.NewFlagSet("turnreport", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		help(f, s.out)
		return report.ExitGood
	case err == nil && f.NArg() == 0:
		err = errors.New("nothing to read: name journals")
		fallthrough
	case err != nil:
		s.fail(fmt.Errorf("%w; -help tells more", err))
		return report.ExitUnable
	}
	d, err := report.Read(ctx, f.Args(), s.in)
	if err != nil {
		s.fail(err)
		return report.ExitUnable
	}
	r := report.Make(d, report.Options{})
	if err := r.Text(s.out); err != nil {
		s.fail(fmt.Errorf("write the report: %w", err))
		return report.ExitUnable
	}
	return r.Exit()
}

func help(f *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, intro)
	for _, c := range commands() {
		fmt.Fprintf(w, "  turnreport %s %s\n        %s\n", c.name, c.args, c.help)
	}
	fmt.Fprint(w, "\nFlags:\n")
	f.SetOutput(w)
	f.PrintDefaults()
}
