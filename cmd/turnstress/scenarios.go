package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"turnwatch/cmd/internal/stress"
)

const scenariosIntro = `turnstress scenarios lists the scenarios that come with it, and with a NAME prints
one's file, to be changed and given as -scenario FILE:

  turnstress scenarios
  turnstress scenarios abort-decode > mine.yaml

The keys are the names of run's flags; a flag that is given wins over the file. doc
says what it provokes. Each of companions is a group of sessions that runs beside the
counted ones on every target: name, concurrency, and the flags that say what sessions
are like (-tasks to -abort-retries).
`

func runScenarios(_ context.Context, args []string, stdout, _ io.Writer) (int, error) {
	fs := flag.NewFlagSet("turnstress scenarios", flag.ContinueOnError)
	if err := parse(fs, args, scenariosIntro, stdout); err != nil {
		return exitUnable, err
	}
	if fs.NArg() > 1 {
		return exitUnable, fmt.Errorf("unexpected argument %q: one scenario at a time", fs.Arg(1))
	}
	if fs.NArg() == 1 {
		b, err := stress.ScenarioText(fs.Arg(0))
		if err == nil {
			_, err = stdout.Write(b)
		}
		return exitGood, err
	}
	return exitGood, list(stdout)
}

func list(w io.Writer) error {
	all, err := stress.Scenarios()
	if err != nil {
		return err
	}
	for _, s := range all {
		if _, err := fmt.Fprintf(w, "%s\n    %s\n", s.Name, strings.ReplaceAll(s.Doc, "\n", "\n    ")); err != nil {
			return fmt.Errorf("list the scenarios: %w", err)
		}
	}
	return nil
}
