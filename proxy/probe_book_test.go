package proxy

import (
	"math/rand/v2"
	"testing"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// probed is a probe with one finding, or none.
func probed(a turn.Answer, kind validate.Kind) *turn.Turn {
	t := &turn.Turn{Arm: turn.Probe, Answer: a, Tags: map[string]turn.Tag{"batch": {Value: "24"}}, Fingerprint: "1a2b3c4d"}
	t.Outcome = validate.Clean
	if kind != "" {
		t.Outcome = validate.Corrupted
		t.Findings = []validate.Finding{{Kind: kind}}
	}
	return t
}

// TestProbesProveASilentRace: where 2% of answers are wrong and no check sees
// them, probes prove within the planned number that more than 0.1% are, and
// where 0.1% are they hardly ever do.
func TestProbesProveASilentRace(t *testing.T) {
	const planned = 520 // turnstress plan -prove 2%:0.1% -power 98%
	random := rand.New(rand.NewPCG(5, 6))
	f := func(share float64) (proved int) {
		for range 200 {
			b := newProbeBook()
			for range planned {
				a := turn.Right
				if random.Float64() < share {
					a = turn.Wrong
				}
				if b.add(probed(a, "")).proved != nil {
					proved++
				}
			}
		}
		return proved
	}
	if real, none := f(0.02), f(0.001); real < 190 || none > 18 {
		t.Errorf("proved: got %d of 200 at 2%% and %d at 0.1%%, want at least 190 and at most 18", real, none)
	}
}

// TestKindThatIsWrongTooOftenIsDemoted, once, and those of wrong answers are not.
func TestKindThatIsWrongTooOftenIsDemoted(t *testing.T) {
	p := &prober{book: newProbeBook()}
	var demoted []validate.Kind
	add := func(n int, a turn.Answer, kind validate.Kind) {
		for range n {
			demoted = append(demoted, p.book.add(probed(a, kind)).demoted...)
		}
	}
	add(2000, turn.Right, "")
	add(50, turn.Wrong, validate.SchemaValue)
	add(1, turn.Right, validate.GarbledText)
	if len(demoted) > 0 {
		t.Fatalf("got %v demoted for one false alarm", demoted)
	}
	add(6, turn.Right, validate.GarbledText)
	if len(demoted) != 1 || demoted[0] != validate.GarbledText {
		t.Fatalf("got %v demoted, want the garbled text", demoted)
	}
	v := probed(turn.Right, validate.GarbledText).Verdict
	p.demote(&v)
	if v.Outcome != validate.Clean || !v.Suspect || len(v.Signals) != 1 {
		t.Errorf("a turn with that kind: got %s %v", v.Outcome, v.Signals)
	}
}
