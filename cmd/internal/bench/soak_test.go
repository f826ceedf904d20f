package bench

import (
	"context"
	"testing"
	"time"
)

// TestSoak is a short one of all manners: turnbench soak is the long one.
func TestSoak(t *testing.T) {
	e := new(Endured)
	for lasts := 4 * time.Second; lasts < time.Minute; lasts *= 3 { // a busy machine may need longer for all manners
		var err error
		if e, err = (Soak{Program: program, For: lasts, Clients: 12, Seed: 1, Every: lasts / 4}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		t.Logf("%v", e)
		if len(e.missed()) == 0 && e.Verdicts["clean"] > 0 && e.Verdicts["truncated"] > 0 {
			break
		}
	}
	for _, f := range e.Faults() {
		t.Error(f)
	}
	if m := e.missed(); len(m) > 0 {
		t.Errorf("got no exchange of %v", m)
	}
	if e.Verdicts["clean"] == 0 || e.Verdicts["truncated"] == 0 || e.Proofs["same"] == 0 {
		t.Errorf("got verdicts %v and comparisons %v, want clean and truncated turns and equal bytes", e.Verdicts, e.Proofs)
	}
}

// TestSoakSeesFaults: what must not be is told.
func TestSoakSeesFaults(t *testing.T) {
	f := func(e Endured, want int) {
		t.Helper()
		if got := e.Faults(); len(got) != want {
			t.Errorf("got %q, want %d faults", got, want)
		}
	}
	even, leak := make([]Sample, settled), make([]Sample, settled)
	for i := range even {
		even[i] = Sample{Goroutines: 50, Descriptors: 30, Heap: 9e6 + int64(i%2)*1e5, RSS: 40e6}
		leak[i] = Sample{Goroutines: 50, Descriptors: 30, Heap: 9e6 + int64(i)*1e6, RSS: 40e6 + int64(i)*4e6}
	}
	f(Endured{Samples: even}, 0)
	f(Endured{Samples: leak}, 2)
	f(Endured{Errors: 1, Told: []string{"x"}}, 1)
	f(Endured{Before: Sample{Descriptors: 20}, After: Sample{Descriptors: 40}}, 1)
	f(Endured{Verdicts: map[string]float64{"clean": 9, "corrupted": 1}}, 1)
	f(Endured{Proofs: map[string]float64{"same": 9, "different": 1}}, 1)
}

// missed are the manners of which there was no exchange.
func (e *Endured) missed() (all []Manner) {
	for _, m := range manners {
		if e.Did[m] == 0 {
			all = append(all, m)
		}
	}
	return all
}
