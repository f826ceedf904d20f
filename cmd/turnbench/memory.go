package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"turnwatch/cmd/internal/bench"
)

func (o *options) memoryFlags(fs *flag.FlagSet) {
	fs.IntVar(&o.silence.Streams, "streams", 5000, "`NUMBER` of streams of turnbench memory")
	fs.IntVar(&o.silence.Request, "request", 16<<10, "`BYTES` of each of its requests")
	fs.StringVar(&o.silence.Profile, "profile", "", "`FILE` for a profile of turnwatch's heap")
	fs.Func("args", "`ARGUMENTS` of turnwatch, separated by spaces, such as \"-echo off\"", func(v string) error {
		o.silence.Args = strings.Fields(v)
		return nil
	})
}

// silent measures silent streams.
func (o *options) silent(ctx context.Context, stdout io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s := o.silence
	s.Program = o.programs["turnwatch"]
	fmt.Fprintln(stdout, bench.NewSetting(nil, bench.Commit(s.Program)))
	h, err := s.Run(ctx, bench.Session{Serve: []string{self, "serve"}})
	if err == nil {
		fmt.Fprint(stdout, h)
	}
	return err
}
