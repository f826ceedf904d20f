package turn

import (
	"fmt"
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
