package main

import (
	"io"
	"strings"
	"testing"
)

// opinionService prepares a service with these arguments.
func opinionService(t *testing.T, args ...string) (*service, error) {
	t.Helper()
	o := new(options)
	f := newFlags(o)
	l, err := f.load(append([]string{"-upstream", "http://127.0.0.1:1"}, args...))
	if err == nil {
		err = o.check(l)
	}
	if err != nil {
		return nil, err
	}
	s, err := o.prepare(io.Discard)
	return s, err
}

// TestOpinionsThatAreOffCostNothing: nothing is kept, lent or asked for that was not before.
func TestOpinionsThatAreOffCostNothing(t *testing.T) {
	s, err := opinionService(t)
	if err != nil {
		t.Fatal(err)
	}
	sinks, err := s.openOpinions()
	if err != nil || len(sinks) != 0 || s.cfg.Capture != 0 || s.cfg.Lend != nil || s.asker != nil || s.opinionMetrics() != nil {
		t.Errorf("off: got %v, %v, capture %d, lends %v, asks %v", sinks, err, s.cfg.Capture, s.cfg.Lend != nil, s.asker != nil)
	}
	if s, err = opinionService(t, "-opinion", "live"); err != nil || s.cfg.Capture == 0 || s.cfg.Lend == nil || !s.opinions.Live || s.opinions.URL != "http://127.0.0.1:1" {
		t.Errorf("live: got %v, %+v", err, s.opinions)
	}
}

func TestOpinionSettings(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		if _, err := opinionService(t, args...); err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: got %v, want %q", args, err, want)
		}
	}
	f("", "-opinion", "off")
	f("", "-opinion", "http://10.0.0.2:30000", "-opinion-tokens")
	f("", "-opinion", "unix:/run/s.sock")
	f("is no server", "-opinion", "10.0.0.2:30000")
	f("is no server", "-opinion", "http://10.0.0.2:30000/v1")
	f("need -opinion", "-opinion-tokens")
	f("contradict", "-opinion", "live", "-relay-only")
	f("leave -opinion-key-file out", "-opinion", "live", "-opinion-key-file", "k")
	f("no whole number", "-opinion", "live", "-opinion-replays", "1.5")
	f("is off", "-opinion", "live", "-opinion-rate", "off")
	f("cannot be 0", "-opinion", "live", "-opinion-wait", "0")
	f("cannot be 0", "-opinion", "live", "-opinion-timeout", "0s")
	f("read -opinion-key-file", "-opinion", "http://10.0.0.2:30000", "-opinion-key-file", "/nonexistent")
}
