package bench

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Profile has turnwatch, with everything on, profile its CPU under a scenario and
// writes the profile to file.
func (s *Session) Profile(ctx context.Context, program string, sc Scenario, file string) error {
	dir, err := os.MkdirTemp("", "turnbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := s.serve(ctx, dir, sc)
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	defer server.stop()
	c, err := collect(true)
	if err != nil {
		return err
	}
	defer c.close()
	target := turnwatch("turnwatch-all", program, "", "-journal", "{dir}/turns.jsonl", "-pprof")
	p, err := target.start(ctx, server.addr, dir, c.env...)
	if err != nil {
		return err
	}
	defer p.stop()
	sc.For = profileTime
	profiled := make(chan error, 1)
	_, err = sc.run(p.Listen, server.times, profiler(ctx, p, sc.For, file, profiled))
	if err != nil {
		return err
	}
	return <-profiled
}

// profileTime is how long turnwatch is profiled, and a second.
const profileTime = 16 * time.Second

// profiler begins to profile with the measurement.
func profiler(ctx context.Context, p *process, length time.Duration, file string, done chan<- error) (mark func() error) {
	begun := false
	return func() error {
		if begun {
			return nil
		}
		begun = true
		go func() {
			b, err := fetch(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.Admin, max(1, int(length.Seconds())-1)))
			if err == nil {
				err = os.WriteFile(file, b, 0o644)
			}
			done <- err
		}()
		return nil
	}
}
