package report

import (
	"slices"
	"strings"
	"time"

	"turnwatch/proxy/turn"
)

// Version is the version of the report's JSON form. It rises only when a field
// changes its meaning.
const Version = 1

// Options say what to report on. The zero value reports on everything.
type Options struct {
	Arm   string    // of the turns; "" for live ones, or for all where none is live
	Model string    // "" for all
	Since time.Time // zero for all
	Until time.Time

	A, B   Selector // compared if both are set; then turns of every arm are looked at
	Margin float64  // a difference up to this is called none; default 0.05

	Seed         uint64    // of the permutations
	Permutations int       // at most; 0 for the default
	Confirm      time.Time // sessions from then on are kept from the search and confirm it
}

// Report is what the journals say. Its JSON form is what -json prints.
type Report struct {
	V      int       `json:"v"`
	Source Source    `json:"source"`
	From   time.Time `json:"from"` // of the first turn to that of the last
	To     time.Time `json:"to"`
	Arm    string    `json:"arm"`

	Sessions Rate    `json:"sessions"`
	Turns    Rate    `json:"turns"`
	Suspect  Pair    `json:"suspect"`      // signals that convict nobody alone
	Parser   int     `json:"parser_turns"` // turns whose findings are all the parser's: counted as sound
	Verdicts []Count `json:"verdicts"`
	Reasons  []Count `json:"unverified"` // why turns are unverified

	Kinds      []Kind      `json:"kinds"`
	ByParser   []Kind      `json:"parser_kinds"` // findings that are the parser's; in no rate
	Signals    []Kind      `json:"signals"`
	Wrong      *Rate       `json:"wrong_but_valid_sessions,omitempty"` // where clients know the right answer: sound to the judge, and not right
	Scorecard  *Scorecard  `json:"scorecard,omitempty"`
	Neighbours *Neighbours `json:"neighbours,omitempty"`
	Opinions   *Opinions   `json:"opinions,omitempty"`
	Audit      *Audit      `json:"probes,omitempty"`
	Explained  []Explained `json:"explained"` // of corrupted, and of suspect sessions if there are any
	Comparison *Comparison `json:"comparison,omitempty"`

	Tags     []Tag     `json:"tags"`
	Ranking  []Level   `json:"ranking"` // of single conditions, by session
	Batch    []Level   `json:"batch"`
	Steps    []Dose    `json:"decode_steps"` // by batch, where it is known step by step
	Length   []Level   `json:"output_length"`
	Timeline Timeline  `json:"timeline"`
	Examples []Example `json:"examples"`
	Notes    []string  `json:"notes"`
}

// Pair is a rate of sessions and one of turns.
type Pair struct {
	Sessions Rate `json:"sessions"`
	Turns    Rate `json:"turns"`
}

// Count is how many turns have a name.
type Count struct {
	Name  string `json:"name"`
	Turns int    `json:"turns"`
}

// Make makes the report.
func Make(d *Data, o Options) *Report {
	v, arm := d.chosen(o)
	r := &Report{V: Version, Source: d.Source, Arm: arm, Notes: []string{}}
	r.span(v)
	r.Sessions, r.Turns = v.rates()
	r.Suspect.Sessions, r.Suspect.Turns = v.of((*row).suspect).rates()
	r.counts(v)
	r.Kinds = v.kindsOf(func(t *row) uint64 { return t.kinds })
	r.ByParser = v.kindsOf(func(t *row) uint64 { return t.parser })
	r.Signals = v.kindsOf(func(t *row) uint64 { return t.signals })
	units := v.units()
	r.Tags = d.tags(units)
	r.Ranking = d.ranking(units, r.Tags)
	r.Batch, r.Length = v.byBatch(units), v.byLength(units)
	r.Steps, r.Timeline = v.doses(), v.timeline()
	r.Explained = []Explained{d.explain("corrupted", units, o)}
	if r.Suspect.Sessions.Corrupted > 0 {
		r.Explained = append(r.Explained, d.explain("suspect", v.of((*row).suspect).units(), o))
	}
	if r.Turns.Corrupted > 0 {
		r.Neighbours = v.neighbours()
	}
	r.Wrong, r.Scorecard = v.wrong(), v.scorecard()
	if !o.A.empty() && !o.B.empty() {
		r.Comparison = d.view(func(t *row) bool { return within(t.at, o.Since, o.Until) }).compare(o)
	}
	r.Examples = d.examplesOf(arm)
	r.Opinions, r.Audit = d.secondOpinions(o, arm), d.audit(o)
	return r
}

// chosen returns the turns that the options choose, and their arm.
func (d *Data) chosen(o Options) (view, string) {
	arm := o.Arm
	if _, live := d.arms.number[string(turn.Live)]; arm == "" && live {
		arm = string(turn.Live)
	}
	return d.view(func(r *row) bool {
		return (arm == "" || d.arms.all[r.arm] == arm) && (o.Model == "" || d.models.all[r.model] == o.Model) && within(r.at, o.Since, o.Until)
	}), arm
}

// within reports whether a moment is in [since, until); zero is no bound.
func within(at int64, since, until time.Time) bool {
	return (since.IsZero() || at >= since.UnixNano()) && (until.IsZero() || at < until.UnixNano())
}

func (r *Report) span(v view) {
	if n := len(v.rows); n > 0 {
		r.From, r.To = time.Unix(0, v.rows[0].at).UTC(), time.Unix(0, v.rows[n-1].at).UTC()
	}
}

// wrong returns the rate of sessions with an answer that is sound to the judge
// and not the right one: a mistake of the model, or silent corruption. Nil where
// no client knows.
func (v view) wrong() *Rate {
	known := v.keep(func(r *row) bool { return r.flags&isKnown != 0 })
	if len(known.rows) == 0 {
		return nil
	}
	s, _ := known.of(func(r *row) bool { return r.flags&isWrong != 0 && !r.bad() }).rates()
	return &s
}

// counts counts turns by verdict and by what could not be judged.
func (r *Report) counts(v view) {
	var verdicts [4]int
	reasons := map[string]int{}
	for _, t := range v.rows {
		verdicts[t.outcome]++
		if t.outcome == corrupted && !t.bad() {
			r.Parser++
		}
		if !t.judged() {
			reasons[v.d.reasons.all[t.reason]]++
		}
	}
	r.Verdicts = []Count{{"clean", verdicts[clean]}, {"corrupted", verdicts[corrupted]}, {"truncated", verdicts[truncated]}, {"unverified", verdicts[unverified]}}
	r.Reasons = byCount(reasons)
}

// byCount lists counts, the greatest first.
func byCount(counts map[string]int) []Count {
	all := []Count{}
	for name, n := range counts {
		all = append(all, Count{name, n})
	}
	slices.SortFunc(all, func(a, b Count) int {
		if a.Turns != b.Turns {
			return b.Turns - a.Turns
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

func (d *Data) examplesOf(arm string) []Example {
	all := []Example{}
	for _, e := range d.examples {
		if arm == "" || d.arms.all[e.arm] == arm {
			all = append(all, e)
		}
	}
	return all
}

// The exit codes.
const (
	ExitGood      = 0
	ExitCorrupted = 1
	ExitUnable    = 2
	ExitUndecided = 3
)

// Exit returns the exit code that the report stands for.
func (r *Report) Exit() int {
	switch {
	case len(r.Source.Failed) > 0 || r.Source.Turns == 0 && r.Source.Bad > 0:
		return ExitUnable
	case r.Comparison != nil:
		return r.Comparison.exit()
	case r.Sessions.Corrupted > 0:
		return ExitCorrupted
	case r.Sessions.All == 0:
		return ExitUndecided
	}
	return ExitGood
}
