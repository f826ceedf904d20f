package main

import (
	"flag"
	"testing"
)

// TestEverySettingIsTakenOverOrSaysWhyNot.
func TestEverySettingIsTakenOverOrSaysWhyNot(t *testing.T) {
	f := newFlags(new(options))
	taken, later := new(service).reloadable(), lasting()
	n := 0
	f.set.VisitAll(func(fl *flag.Flag) {
		_, now := taken[fl.Name]
		_, why := later[fl.Name]
		if f.settable(fl.Name) {
			if n++; now == why {
				t.Errorf("-%s: taken over %v, wants a new start %v: want one of both", fl.Name, now, why)
			}
		}
	})
	if n != len(taken)+len(later) {
		t.Errorf("got %d settings, %d taken over and %d that want a new start", n, len(taken), len(later))
	}
}
