package pairs

import (
	"math"
	"slices"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate/stats"
)

// Report is what a Book says: what GET /shadow answers and turnreport prints. Word,
// Promote and Rollback are of all current comparisons together, one a model: the worst
// word, whether all of them allow to promote, and whether any asks to roll back.
type Report struct {
	Word     stats.Word       `json:"word"`
	Promote  bool             `json:"promote"`
	Rollback bool             `json:"rollback"`
	Text     string           `json:"text"`
	Current  []Comparison     `json:"current"`
	Earlier  []Comparison     `json:"earlier"` // under other fingerprints, latest first
	Arms     map[turn.Arm]Arm `json:"arms"`
}

// Arm counts what became of the requests that an arm was offered.
type Arm struct {
	Offered int            `json:"offered"`
	Paired  int            `json:"paired"`
	Dropped map[string]int `json:"dropped"` // by reason
	Failed  map[string]int `json:"failed"`  // by how
}

// Comparison is a candidate held against a control.
type Comparison struct {
	Model   string    `json:"model"`
	Arm     turn.Arm  `json:"arm"`
	Against turn.Arm  `json:"against"` // live where there is no control
	Print   string    `json:"fingerprint"`
	Versus  string    `json:"against_fingerprint"`
	Live    string    `json:"live_fingerprint"`
	Since   time.Time `json:"since"`
	Last    time.Time `json:"last"`

	Word    stats.Word `json:"word"`
	Promote bool       `json:"promote"`
	Text    string     `json:"text"` // the word in a sentence, with its reason
	Margin  float64    `json:"margin"`
	// More is about how many more pairs it takes to a word: 0 when there is one, -1
	// when that is beyond a million.
	More int `json:"more_pairs"`
	// Ratio is the share of requests that is mirrored, and NeedRatio the one at which
	// the candidate's batch would be the live server's; 0 when not known.
	Ratio     float64 `json:"ratio"`
	NeedRatio float64 `json:"ratio_needed"`

	Corrupted  Question `json:"corrupted"`
	Suspect    Question `json:"suspect"`
	Unanswered Question `json:"unanswered"`
	Noise      Question `json:"noise"`       // the control held against the live server
	Beside     Question `json:"beside_live"` // the candidate held against the live server

	Strata []Stratum            `json:"strata"` // by length of the live answer
	Differ Differ               `json:"differ"`
	Arms   map[turn.Arm]Measure `json:"measures"`
}

// Question is how often one of two answers is bad, and what that proves.
type Question struct {
	// Word is what this count says by itself, whatever the arms' batches.
	Word     stats.Word `json:"word"`
	Pairs    int        `json:"pairs"` // judged in both arms
	Clean    int        `json:"both_clean"`
	First    int        `json:"only_first"` // the candidate, or whichever is held against another
	Second   int        `json:"only_second"`
	Both     int        `json:"both"`
	Unjudged int        `json:"unjudged"`
	Votes    [2]int     `json:"votes"`    // sessions against the first and the second; minutes, of what is unanswered
	EWorse   float64    `json:"e_worse"`  // that the first is bad more often
	EBetter  float64    `json:"e_better"` // that it is less often
	// Low, Seen and High are the first's share of bad answers less the second's, within
	// its always-valid 95% interval.
	Low  float64 `json:"low"`
	Seen float64 `json:"seen"`
	High float64 `json:"high"`
}

// Stratum is the question of corruption among answers of a length.
type Stratum struct {
	Tokens string `json:"tokens"`
	Question
}

// Differ counts pairs whose answers are not alike, whatever the verdicts.
type Differ struct {
	Finish int `json:"finish_reasons"`
	Names  int `json:"call_names"`
	Args   int `json:"call_arguments"`
	Text   int `json:"text"`
	Prompt int `json:"prompt_tokens"` // another template or tokenizer
}

func (d *Differ) add(t *turn.Twin) {
	for _, c := range []struct {
		n    *int
		same bool
	}{{&d.Finish, t.Finish}, {&d.Names, t.Names}, {&d.Args, t.Args}, {&d.Text, t.FirstDiff < 0}, {&d.Prompt, t.Prompt}} {
		if !c.same {
			*c.n++
		}
	}
}

// Measure are means over an arm's answers.
type Measure struct {
	Batch   float64 `json:"batch"`
	TTFBMS  float64 `json:"ttfb_ms"`
	TokenMS float64 `json:"token_ms"`
	Tokens  float64 `json:"completion_tokens"`
}

// Report says what the pairs so far say. Nobody who adds a pair waits for it to be worked
// out.
func (b *Book) Report() Report {
	all, arms := b.counts()
	r := Report{Current: []Comparison{}, Earlier: []Comparison{}, Arms: arms}
	for i := range all {
		r.add(all[len(all)-1-i].comparison(b.limits))
	}
	r.sum()
	return r
}

// counts copies what was counted.
func (b *Book) counts() ([]account, map[turn.Arm]Arm) {
	b.mu.Lock()
	defer b.mu.Unlock()
	arms := map[turn.Arm]Arm{}
	for name, a := range b.arms {
		arms[name] = a.clone()
	}
	all := make([]account, len(b.all))
	for i, a := range b.all {
		all[i] = *a
		all[i].arms = map[turn.Arm]*measures{}
		for name, m := range a.arms {
			measured := *m
			all[i].arms[name] = &measured
		}
	}
	return all, arms
}

// Of is the report of the comparisons with a model, and with a fingerprint of the
// candidate; empty is any. The latest of each model is the current one.
func (r Report) Of(model, print string) Report {
	return r.again(func(c *Comparison) bool {
		return (model == "" || c.Model == model) && (print == "" || c.Print == print)
	},
		func(a, b Comparison) int { return b.Last.Compare(a.Last) })
}

// Most is the report with the comparison of each model that has most pairs as the current
// one: that of a time in which, at its edges, others began or ended.
func (r Report) Most() Report {
	size := func(c *Comparison) int { return c.Corrupted.Pairs + c.Corrupted.Unjudged }
	return r.again(func(*Comparison) bool { return true }, func(a, b Comparison) int { return size(&b) - size(&a) })
}

// again makes the report anew of some comparisons, in an order.
func (r Report) again(some func(*Comparison) bool, order func(a, b Comparison) int) Report {
	all := slices.Concat(r.Current, r.Earlier)
	slices.SortStableFunc(all, order)
	r.Current, r.Earlier = []Comparison{}, []Comparison{}
	for i := range all {
		if some(&all[i]) {
			r.add(all[i])
		}
	}
	r.sum()
	return r
}

// add adds a comparison, which comes after those that are there.
func (r *Report) add(c Comparison) {
	if slices.ContainsFunc(r.Current, func(had Comparison) bool { return had.Model == c.Model }) {
		r.Earlier = append(r.Earlier, c)
	} else {
		r.Current = append(r.Current, c)
	}
}

func (a *Arm) clone() Arm {
	c := *a
	c.Dropped, c.Failed = cloned(a.Dropped), cloned(a.Failed)
	return c
}

func cloned(m map[string]int) map[string]int {
	out := make(map[string]int, len(m))
	for k, n := range m {
		out[k] = n
	}
	return out
}

// sum makes one word of those of all models.
func (r *Report) sum() {
	order := []stats.Word{stats.Worse, stats.NotComparable, stats.Undecided, stats.Same, stats.Better}
	r.Word, r.Text, r.Promote = stats.Undecided, "no pairs yet", len(r.Current) > 0
	at := len(order)
	for i := range r.Current {
		c := &r.Current[i]
		if n := slices.Index(order, c.Word); n < at {
			at, r.Word, r.Text = n, c.Word, c.Text
		}
		r.Promote = r.Promote && c.Promote
	}
	r.Rollback = r.Word == stats.Worse
}

// comparison words what was counted.
func (a *account) comparison(l Limits) Comparison {
	c := Comparison{Model: a.model, Arm: turn.Candidate, Against: a.against, Print: a.print, Versus: a.versus, Live: a.live, Since: a.since, Last: a.last,
		Margin: l.Margin, Ratio: a.ratio, More: a.corrupted.More(l.Margin), Differ: a.differ, Strata: []Stratum{}, Arms: map[turn.Arm]Measure{},
		Corrupted: a.corrupted.question(l.Margin), Suspect: a.suspect.question(l.Margin), Unanswered: a.unanswered.question(l.Margin),
		Noise: a.noise.question(l.Margin), Beside: a.beside.question(l.Margin)}
	for i, name := range stratumNames() {
		if t := &a.strata[i]; t.N+t.Unjudged > 0 {
			c.Strata = append(c.Strata, Stratum{name, t.question(l.Margin)})
		}
	}
	for arm, m := range a.arms {
		c.Arms[arm] = Measure{tenths(m.batch.value()), tenths(m.ttfb.value()), tenths(m.token.value()), tenths(m.tokens.value())}
	}
	c.NeedRatio = a.needs()
	c.Word, c.Text = a.word(l)
	c.Promote = (c.Word == stats.Same || c.Word == stats.Better) && a.unanswered.LogEWorse() < math.Log(stats.Decisive)
	return c
}

func tenths(f float64) float64 { return math.Round(10*f) / 10 }

// question words one count.
func (t *tally) question(margin float64) Question {
	q := Question{Word: t.Word(margin), Pairs: t.N, Clean: t.Clean, First: t.B, Second: t.C, Both: t.Both, Unjudged: t.Unjudged,
		Votes: [2]int{t.VoteB, t.VoteC}, EWorse: value(t.LogEWorse()), EBetter: value(t.LogEBetter())}
	q.Low, q.High = t.Sequence(0.95)
	if t.N > 0 {
		q.Seen = float64(t.B-t.C) / float64(t.N)
	}
	return q
}

// value is e to the x, as far as JSON holds it.
func value(x float64) float64 { return math.Exp(min(x, 700)) }
