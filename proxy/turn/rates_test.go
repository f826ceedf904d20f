package turn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"turnwatch/validate"
)

func text(estimate, tokens int64) *validate.Verdict {
	return &validate.Verdict{Outcome: validate.Clean, Spent: validate.Spent{Estimate: estimate, Tokens: tokens}}
}

func TestRatesAreLearned(t *testing.T) {
	var r Rates
	f := func(what string, least, most float64) {
		t.Helper()
		if got := r.Of("m"); got < least || got > most {
			t.Errorf("%s: got %v, want %v to %v", what, got, least, most)
		}
	}
	f("nothing", validate.CautiousRate, validate.CautiousRate)
	for i := range int64(enoughSeen - 1) {
		r.Learn("m", text(100, 140+i%5))
	}
	f("too few", validate.CautiousRate, validate.CautiousRate)
	r.Learn("m", text(10, 400)) // too short
	bad := text(100, 900)
	bad.Findings = []validate.Finding{{Kind: validate.MarkupLeakContent}}
	r.Learn("m", bad)
	f("what is left out", validate.CautiousRate, validate.CautiousRate)
	r.Learn("m", text(100, 142))
	f("a token a character", 1.4, 1.6)
	for range 10 {
		lost := text(100, 300)
		lost.Outcome, lost.Findings = validate.Corrupted, []validate.Finding{{Kind: validate.SwallowedText}}
		r.Learn("m", lost)
	}
	f("some swallowed", 1.4, 1.8)
	for range rateWindow {
		r.Learn("m", text(100, 20))
	}
	f("another tokenizer", 0.8, 0.8)
}

func TestRatesAreBounded(t *testing.T) {
	var r Rates
	for i := range 10 * maxModels {
		r.Learn(fmt.Sprint(i), text(100, 60))
	}
	if got := len(r.models); got != maxModels {
		t.Errorf("got %d models, want %d", got, maxModels)
	}
}

// TestRatesLetGoOfWhatIsNotUsed: a model that comes late is learned, and one that
// is asked for stays.
func TestRatesLetGoOfWhatIsNotUsed(t *testing.T) {
	var r Rates
	learn := func(model string) {
		for range enoughSeen {
			r.Learn(model, text(100, 140))
		}
	}
	learn("asked")
	learn("unused")
	for i := range maxModels {
		r.Of("asked")
		learn(fmt.Sprint(i))
	}
	for model, want := range map[string]bool{"asked": true, "unused": false, fmt.Sprint(maxModels - 1): true} {
		if got := r.Of(model) != validate.CautiousRate; got != want {
			t.Errorf("%s: got known %t, want %t", model, got, want)
		}
	}
}

// TestRateIsTheMediansOne: what is kept sorted tells the same medians as sorting anew.
func TestRateIsTheMediansOne(t *testing.T) {
	middle := func(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }
	r := rand.New(rand.NewPCG(3, 4))
	var m rate
	var all []float64
	for i := range 2000 {
		spent := math.Exp(r.NormFloat64())
		if i%3 == 0 {
			spent = float64(r.IntN(4)) // many are equal
		}
		m.add(spent)
		all = append(all, spent)
		all = all[max(0, len(all)-rateWindow):]
		mid, off := middle(all), []float64{}
		for _, x := range all {
			off = append(off, max(x-mid, mid-x))
		}
		if want := max(0.8, mid+4*middle(off)+0.05); m.now != want {
			t.Fatalf("after %d: got %v, want %v", i+1, m.now, want)
		}
	}
}

func BenchmarkLearn(b *testing.B) {
	var r Rates
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		r.Learn("m", text(100, 100+i*31%97))
	}
}
