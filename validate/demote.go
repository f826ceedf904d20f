package validate

import "slices"

// Demote makes signals of the findings of some kinds, and the verdict what the
// others amount to.
func (v *Verdict) Demote(kinds func(Kind) bool) {
	worst, before := Clean, v.Outcome
	v.Findings = slices.DeleteFunc(v.Findings, func(f Finding) bool {
		if kinds(f.Kind) {
			v.Signals = append(v.Signals, Signal{Kind: f.Kind, Choice: f.Choice, Call: f.Call, Path: f.Path, Offset: f.Offset, AtMS: f.AtMS, Delta: f.Delta, Tokens: f.Tokens})
			v.Suspect = true
			return true
		}
		if o := f.Kind.outcome(); worse(o, worst) {
			worst = o
		}
		return false
	})
	if before == Corrupted || before == Truncated {
		v.Outcome = worst
		v.doubt()
	}
}

// outcome is that of a turn which has no worse finding.
func (k Kind) outcome() Outcome {
	for _, info := range Kinds() {
		if info.Kind == k {
			return info.Outcome
		}
	}
	return Clean
}
