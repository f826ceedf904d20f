package main

import (
	"context"
	"errors"
	"os"

	"turnwatch/cmd/internal/bench"
)

// profiled writes a profile of turnwatch's CPU: under one scenario to be read, or
// under each of them to guide the build.
func (o *options) profiled(ctx context.Context, guide bool) error {
	if o.profile == "" {
		return errors.New("-profile is missing: the file to write")
	}
	scenarios, err := pick(bench.Scenarios(), o.scenarios, func(s bench.Scenario) string { return s.Name })
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s := bench.Session{Serve: []string{self, "serve"}}
	if guide {
		return s.Guide(ctx, o.programs["turnwatch"], scenarios, o.profile)
	}
	return s.Profile(ctx, o.programs["turnwatch"], scenarios[0], o.profile)
}
