package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"turnwatch/cmd/internal/bench"
)

func (o *options) soakFlags(fs *flag.FlagSet) {
	fs.DurationVar(&o.soak.For, "for", 15*time.Minute, "how long turnbench soak goes on, a `DURATION`")
	fs.IntVar(&o.soak.Clients, "clients", 48, "`NUMBER` of clients of turnbench soak")
	fs.DurationVar(&o.soak.Every, "every", 10*time.Second, "`DURATION` between samples of turnbench soak")
}

// endure soaks turnwatch and tells what came of it.
func (o *options) endure(ctx context.Context, stdout io.Writer) error {
	s := o.soak
	s.Program, s.Seed = o.programs["turnwatch"], o.seed
	fmt.Fprintln(stdout, bench.NewSetting(nil, bench.Commit(s.Program)))
	s.Sampled = func(at bench.Sample) { fmt.Fprintln(stdout, at) }
	e, err := s.Run(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\n%v", e)
	for _, f := range e.Faults() {
		fmt.Fprintln(stdout, "FAULT:", f)
		err = errFound
	}
	return err
}
