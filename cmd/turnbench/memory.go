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
	fs.IntVar(&o.silence.Request, "request", 16<<10, "`BYTES` of each request of turnbench memory")
	fs.StringVar(&o.profile, "profile", "", "`FILE` for a profile: of turnwatch's heap, or of its CPU with turnbench profile")
	fs.StringVar(&o.args, "args", "", "`ARGUMENTS` of turnwatch for turnbench memory, separated by spaces, such as \"-echo off\"")
}

// silent measures silent streams.
func (o *options) silent(ctx context.Context, stdout io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s := o.silence
	s.Program, s.Profile, s.Args = o.programs["turnwatch"], o.profile, strings.Fields(o.args)
	fmt.Fprintln(stdout, bench.NewSetting(nil, bench.Commit(s.Program)))
	h, err := s.Run(ctx, bench.Session{Serve: []string{self, "serve"}})
	if err == nil {
		fmt.Fprint(stdout, h)
	}
	return err
}
