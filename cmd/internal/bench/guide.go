package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"
)

// Guide profiles turnwatch's CPU under each scenario and writes one profile of
// them all to file, for a build that it guides. The profile names functions and
// lines but no file, so that it tells nothing of the machine.
func (s *Session) Guide(ctx context.Context, program string, scenarios []Scenario, file string) error {
	dir, err := os.MkdirTemp("", "turnbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []*profile.Profile
	for _, sc := range scenarios {
		one := filepath.Join(dir, sc.Name)
		if err := s.Profile(ctx, program, sc, one); err != nil {
			return fmt.Errorf("profile turnwatch under %s: %w", sc.Name, err)
		}
		p, err := nameless(one)
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	return merge(all, file)
}

// nameless reads a profile and drops from it what says where it was taken.
func nameless(file string) (*profile.Profile, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("read the profile turnwatch gave: %w", err)
	}
	for _, fn := range p.Function {
		fn.Filename = ""
	}
	for _, l := range p.Location {
		l.Mapping, l.Address = nil, 0
	}
	p.Mapping, p.Comments, p.TimeNanos = nil, nil, 0
	for _, sample := range p.Sample {
		sample.Label, sample.NumLabel, sample.NumUnit = nil, nil, nil
	}
	return p, nil
}

// merge writes the sum of profiles.
func merge(all []*profile.Profile, file string) error {
	sum, err := profile.Merge(all)
	if err != nil {
		return fmt.Errorf("add the profiles of the scenarios: %w", err)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := sum.Write(f); err != nil {
		f.Close()
		return fmt.Errorf("write the profile to %s: %w", file, err)
	}
	return f.Close()
}
