package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"turnwatch/cmd/internal/stress"
)

const runIntro = `turnstress plays agent sessions whose right answers are known.

  turnstress -target http://127.0.0.1:30000 -sessions 40 -concurrency 20

Flags:
`

// runOptions are the flags of run.
type runOptions struct {
	load stress.Load
}

func runSessions(ctx context.Context, args []string, stdout, _ io.Writer) (int, error) {
	var o runOptions
	fs := flag.NewFlagSet("turnstress run", flag.ContinueOnError)
	fs.StringVar(&o.load.URL, "target", "", "`URL` of the server")
	fs.StringVar(&o.load.Model, "model", "", "`NAME` of the model")
	fs.IntVar(&o.load.Sessions, "sessions", 40, "`NUMBER` of sessions")
	fs.IntVar(&o.load.Concurrency, "concurrency", 20, "`NUMBER` of sessions at a time")
	if err := parse(fs, args, runIntro, stdout); err != nil {
		return exitUnable, err
	}
	if o.load.URL == "" {
		return exitUnable, errors.New("-target is required")
	}
	turns, err := stress.Run(ctx, o.load)
	if err != nil {
		return exitUnable, err
	}
	wrong := 0
	for _, t := range turns {
		if t.Wrong != nil {
			wrong++
		}
	}
	fmt.Fprintf(stdout, "%d turns, %d not as they should be\n", len(turns), wrong)
	return exitGood, nil
}
