package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"turnwatch/validate/stats"
)

// Explained says which conditions carry an outcome.
type Explained struct {
	Outcome  string `json:"outcome"` // corrupted or suspect
	Sessions Rate   `json:"sessions"`
	// Word is none (there is nothing to explain), nothing_separates, not_yet (no
	// condition has earned its place on its own) or separated.
	Word         string   `json:"word"`
	Causes       []Cause  `json:"causes"`
	Nearest      *Cause   `json:"nearest,omitempty"` // where nothing separates: no evidence
	P            float64  `json:"p"`                 // family-wise, of what separates best
	Tried        int      `json:"conjunctions_tried"`
	Permutations int      `json:"permutations"`
	Unexplained  int      `json:"unexplained_sessions"`
	Factors      []string `json:"factors"`
	Left         []Left   `json:"left_out"`
}

// Left is a factor, or some of its levels, that the search left out.
type Left struct {
	Factor string `json:"factor"`
	Why    string `json:"why"`
}

// Cause is a conjunction inside which sessions are corrupted more often.
type Cause struct {
	Text       string       `json:"text"` // the conditions, joined by ∧
	Conditions []string     `json:"conditions"`
	Open       []Open       `json:"not_yet_separated"`
	Inside     Rate         `json:"inside"`
	Outside    Rate         `json:"outside"`
	P          float64      `json:"p"`     // family-wise
	Raw        float64      `json:"p_raw"` // as if it were the only one looked at
	Earned     []float64    `json:"p_earned"`
	Coverage   float64      `json:"coverage"` // share of the corrupted sessions that lie inside
	Similar    []string     `json:"similar"`
	Aliases    []Alias      `json:"aliases"`
	Implied    []string     `json:"implied"`
	Boots      string       `json:"boots,omitempty"`
	Confounded bool         `json:"confounded_with_boot"`
	Fresh      *FreshResult `json:"confirmation,omitempty"`
	Next       []Cell       `json:"run_next"`
}

// Open is a condition that comes with the cause and is not yet separated from
// it.
type Open struct {
	Condition string  `json:"condition"`
	With      Rate    `json:"with"`
	Without   Rate    `json:"without"`
	P         float64 `json:"p"`
	More      int     `json:"sessions_needed"` // without it, all of them clean; 0 where no number does
}

// Alias is a condition that selects the same sessions as another.
type Alias struct {
	Of      string `json:"of"`
	Instead string `json:"instead"`
}

// FreshResult is what sessions that had no part in the search say.
type FreshResult struct {
	Inside  Rate    `json:"inside"`
	Outside Rate    `json:"outside"`
	P       float64 `json:"p"` // holds at every look
}

// Cell is a configuration to run next.
type Cell struct {
	Set      string `json:"set"`
	Why      string `json:"why"`
	Seen     Rate   `json:"seen"`
	Fixed    int    `json:"sessions_fixed"`
	PeekSafe int    `json:"sessions_peek_safe"`
}

// factor is what differs between sessions, and how to learn it of one.
type factor struct {
	stats.Factor
	of func(*unit) string
}

// factors lists the tags, which can be set, then what merely happens. Numbers are
// given as they are: the search cuts them itself.
func (d *Data) factors(units []unit) []factor {
	var all []factor
	for _, name := range d.tagNames(units) {
		if slices.Contains(bootTags(), name) {
			continue
		}
		f := factor{stats.Factor{Name: name, Scale: d.scale(name)}, func(u *unit) string { return d.configs.value(u.config, name) }}
		all = append(all, f)
	}
	return append(all,
		factor{stats.Factor{Name: "batch", Scale: stats.Ordinal}, func(u *unit) string { return level(u.batch) }},
		factor{stats.Factor{Name: "graph_bucket", Scale: stats.Graded, From: []string{"cuda_graph", "batch"}}, func(u *unit) string { return level(u.bucket) }},
		factor{stats.Factor{Name: "retractions", Scale: stats.Ordinal}, func(u *unit) string { return level(u.retries) }},
		factor{stats.Factor{Name: "output_tokens", Scale: stats.Ordinal}, func(u *unit) string { return lengthFrom(u.tokens) }},
	)
}

// scale returns that of a tag: numbers if all its values are, and there are
// more than two.
func (d *Data) scale(name string) stats.Scale {
	values := map[string]bool{}
	for i := range d.configs.all {
		v := d.configs.value(int32(i), name)
		if v == "" || values[v] {
			continue
		}
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			return stats.Nominal
		}
		values[v] = true
	}
	if len(values) < 3 {
		return stats.Nominal
	}
	return stats.Graded
}

// lengthFrom is where the range of a length begins. Lengths are told no finer:
// corruption changes them itself, and each threshold more costs the others
// power.
func lengthFrom(n int32) string {
	from, _, _ := strings.Cut(strings.TrimSuffix(lengthRange(n), "+"), "-")
	return from
}

// level spells a number, "" where it is not known.
func level(n int32) string {
	if n < 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

// explain searches for what carries the outcome of the units.
func (d *Data) explain(outcome string, units []unit, o Options) Explained {
	units = d.whole(units)
	factors := d.factors(units)
	plain := make([]stats.Factor, len(factors))
	for i, f := range factors {
		plain[i] = f.Factor
	}
	t := stats.NewTable(plain...)
	levels := make([]string, len(factors))
	for i := range units {
		t.Add(d.statsRow(&units[i], factors, levels, o.Confirm))
	}
	return explained(outcome, stats.Explain(t, stats.Options{Seed: o.Seed, Permutations: o.Permutations, Seen: true}))
}

func (d *Data) statsRow(u *unit, factors []factor, levels []string, confirm time.Time) stats.Row {
	for i, f := range factors {
		levels[i] = f.of(u)
	}
	return stats.Row{Levels: levels, Stratum: d.models.all[u.model], Boot: strconv.Itoa(int(u.boot)), Corrupted: u.K > 0,
		New: !confirm.IsZero() && u.begin >= confirm.UnixNano()}
}

func explained(outcome string, r stats.Result) Explained {
	e := Explained{Outcome: outcome, Sessions: newRate(r.All), P: r.P, Tried: r.Tried, Permutations: r.Permutations,
		Unexplained: r.Unexplained, Factors: list(r.Factors), Causes: []Cause{}, Left: []Left{}}
	for _, l := range r.Left {
		e.Left = append(e.Left, Left(l))
	}
	for i := range r.Causes {
		e.Causes = append(e.Causes, cause(&r.Causes[i]))
	}
	if r.Nearest != nil {
		c := cause(r.Nearest)
		e.Nearest = &c
	}
	switch {
	case r.All.K == 0:
		e.Word = "none"
	case len(e.Causes) == 0:
		e.Word = "nothing_separates"
	case len(e.Causes[0].Conditions) == 0:
		e.Word = "not_yet"
	default:
		e.Word = "separated"
	}
	return e
}

// list is never null in JSON.
func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func cause(e *stats.Explanation) Cause {
	c := Cause{Text: e.Conjunction.String(), Conditions: []string{}, Open: []Open{}, Aliases: []Alias{}, Implied: []string{}, Next: []Cell{},
		Inside: newRate(e.Inside), Outside: newRate(e.Outside), P: e.P, Raw: e.Raw, Earned: list(e.Earned), Coverage: e.Coverage(),
		Similar: list(e.Similar), Boots: e.Boots.String(), Confounded: e.Boots.Confounded()}
	for _, k := range e.Conjunction {
		c.Conditions = append(c.Conditions, k.String())
	}
	if c.Text == "" {
		c.Text = e.Whole().String()
	}
	for _, o := range e.Open {
		c.Open = append(c.Open, Open{o.Condition.String(), newRate(o.With), newRate(o.Without), o.P, o.More})
	}
	for _, a := range e.Aliases {
		c.Aliases = append(c.Aliases, Alias{a.Of.String(), a.Instead.String()})
	}
	for _, i := range e.Implied {
		words := "%s here always comes with %s"
		if i.Derived {
			words = "%s implies %s"
		}
		c.Implied = append(c.Implied, fmt.Sprintf(words, i.If, i.Then))
	}
	if f := e.Fresh; f != nil {
		c.Fresh = &FreshResult{newRate(f.Inside), newRate(f.Outside), f.P}
	}
	for _, n := range e.Next {
		c.Next = append(c.Next, Cell{n.Conjunction.String(), n.Why, newRate(n.Seen), n.Fixed, n.PeekSafe})
	}
	return c
}
