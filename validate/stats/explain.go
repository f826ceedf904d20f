package stats

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Scale says which conditions a factor can make.
type Scale int

// The scales.
const (
	Nominal Scale = iota // names: =
	Ordinal              // numbers: ≥ and ≤
	Graded               // numbers that also mean something one by one, such as the size of a CUDA graph: =, ≥ and ≤
)

// Factor is something that differs between sessions and may carry corruption: a
// tag. Among explanations that the data cannot tell apart the one whose factors
// stand first is named, so put what can be configured before what merely happens.
type Factor struct {
	Name  string
	Scale Scale
	// From lists factors that determine this one, as cuda_graph does graph_bucket:
	// what it implies of them is no gap in the data, and no cell is asked for.
	From []string
}

// Condition holds for the sessions whose factor has a level, has it or more, or
// has it or less.
type Condition struct{ Factor, Op, Level string } // Op is "=", "≥" or "≤"

// String returns it as index_dtype=bf16.
func (c Condition) String() string { return c.Factor + c.Op + c.Level }

// Holds reports whether a session with that level of the factor meets the
// condition. What is not known meets none.
func (c Condition) Holds(level string) bool {
	if level == "" || c.Op == "=" {
		return level != "" && level == c.Level
	}
	v, err := strconv.ParseFloat(level, 64)
	limit, bad := strconv.ParseFloat(c.Level, 64)
	if err != nil || bad != nil {
		return false
	}
	return c.Op == "≥" && v >= limit || c.Op == "≤" && v <= limit
}

// Conjunction holds where all its conditions do.
type Conjunction []Condition

// String joins the conditions by ∧.
func (c Conjunction) String() string {
	parts := make([]string, len(c))
	for i, d := range c {
		parts[i] = d.String()
	}
	return strings.Join(parts, " ∧ ")
}

// Row is one session: what it ran under and what came of it. The session is the
// unit of inference, as turns of one session are corrupted together; of a level
// that differs between its turns, give the one that exposes it most (the largest
// batch).
type Row struct {
	Levels    []string // one for each factor, in their order; "" where it is not known
	Stratum   string   // sessions are compared within strata only, such as model and arm
	Boot      string   // which start of the server it ran on; "" where it is not known
	Corrupted bool     // or another outcome that is to be explained
	New       bool     // kept from the search: it came later, and confirms or refutes what the others suggest
}

// Options of Explain. The zero value has the defaults.
type Options struct {
	Seed         uint64
	Permutations int     // at most; default 1,000
	Alpha        float64 // family-wise level; default 0.05
	Causes       int     // causes named at most; default 3
	Seen         bool    // describe what comes nearest even where nothing separates
}

func (o Options) withDefaults() Options {
	if o.Permutations <= 0 {
		o.Permutations = 1000
	}
	if !(0 < o.Alpha && o.Alpha < 1) {
		o.Alpha = 0.05
	}
	if o.Causes <= 0 {
		o.Causes = 3
	}
	return o
}

// Result is what Explain found.
type Result struct {
	All          Arm           // the sessions searched, New ones left out
	Factors      []string      // that were searched: known in some sessions and not the same in all
	Left         []Left        // factors and levels that were not, and why
	Tried        int           // conjunctions compared
	Permutations int           // made for the first cause
	P            float64       // family-wise p-value of what separates best: Westfall and Young's min-P
	Causes       []Explanation // the first carries the most evidence; none: nothing separates
	Nearest      *Explanation  // where nothing separates, what came nearest, if Options.Seen: no evidence; nil where no session was corrupted
	Unexplained  int           // corrupted sessions outside all causes
}

// Left is a factor that the search left out, or levels of it.
type Left struct{ Factor, Why string }

// Explanation is a conjunction inside which sessions are corrupted more often.
type Explanation struct {
	// Conjunction holds the conditions that have earned their place: without any
	// one of them the sessions are corrupted significantly less. Empty where none
	// has on its own.
	Conjunction
	Open []Open // conditions that come with it in the data and are not yet separated from it

	Inside, Outside Arm     // sessions within and without Conjunction (and Open, where it is empty); of what earlier causes left
	Raw             float64 // exact one-sided p-value of that table within strata, as if it were the only one looked at
	P               float64 // family-wise p-value of Conjunction with Open

	Earned  []float64 // p-values by which each condition earned its place, corrected for what else could have stood there
	Similar []string  // conditions with another threshold that the data do not tell apart, such as batch≥12
	Aliases []Alias
	Implied []Implication
	Boots   Boots
	Fresh   *Confirmation // on New rows; nil without any
	Next    []Cell        // what to run to settle what is open, most telling first
}

// Coverage returns the share of corrupted sessions that lie inside.
func (e *Explanation) Coverage() float64 {
	return Arm{e.Inside.K, e.Inside.K + e.Outside.K}.Rate()
}

// Whole returns Conjunction and the open conditions.
func (e *Explanation) Whole() Conjunction {
	all := slices.Clone(e.Conjunction)
	for _, o := range e.Open {
		all = append(all, o.Condition)
	}
	return all
}

// Open is a condition not yet separated: the sessions With it (and all others of
// the conjunction) are not yet told from those Without it.
type Open struct {
	Condition
	With, Without Arm
	P             float64 // corrected for what else could have stood in its place
	More          int     // sessions still needed without it, if all of them come out clean; 0 where no number of them does
}

// Alias is a condition or conjunction that selects the same sessions: Instead
// could stand for Of and no session would tell.
type Alias struct{ Of, Instead Conjunction }

// Implication says that in this data whatever meets If meets Then. Derived: by
// definition (Factor.From), not by lack of data.
type Implication struct {
	If      Conjunction
	Then    Condition
	Derived bool
}

// Boots counts the starts of the server that ran inside the cause.
type Boots struct {
	Known    bool     // rows said which boot they ran on
	Constant []string // factors of the cause that never changed within a boot; none: boots confound nothing
	Inside   int      // boots that met the conditions on those
	Outside  int      // the other boots
	// P is the exact one-sided p-value with the boot as the unit: boots with any
	// corrupted session inside against outside. It is withheld (1) unless Tested:
	// there are three boots or more on both sides.
	P      float64
	Tested bool
}

// Confounded reports whether the cause cannot be told from the boot it ran on.
func (b Boots) Confounded() bool { return b.Known && len(b.Constant) > 0 && !b.Tested }

// String returns what is to be said of the boots, such as "boots inside: 1 –
// confounded with the boot; repeat in ≥ 3 boots", or nothing.
func (b Boots) String() string {
	switch {
	case !b.Known || len(b.Constant) == 0:
		return ""
	case b.Tested:
		return fmt.Sprintf("boots inside: %d, outside: %d, p with the boot as the unit = %.2g", b.Inside, b.Outside, b.P)
	case b.Inside >= enoughBoots:
		return fmt.Sprintf("boots outside: %d – confounded with the boot; repeat in ≥ %d boots", b.Outside, enoughBoots)
	}
	return fmt.Sprintf("boots inside: %d – confounded with the boot; repeat in ≥ %d boots", b.Inside, enoughBoots)
}

// enoughBoots is how many boots each side needs before a p-value is given: three
// against three reach 5% at best.
const enoughBoots = 3

// Confirmation is what sessions kept from the search say of a cause. It holds at
// every look, as they had no part in choosing it.
type Confirmation struct {
	Inside, Outside Arm
	LogE            float64 // logarithm of the E-value against equal shares; see Blocks. None above 0 unless the share inside is the greater
	P               float64 // the p-value that holds at every look; 1 in that case
}

// Cell is a configuration to run next.
type Cell struct {
	Conjunction        // the levels to set; the other factors as inside the cause
	Why         string // what it would settle
	Seen        Arm    // sessions there already
	Fixed       int    // sessions still needed, fixed in advance, none of them corrupted
	PeekSafe    int    // the same, looking after each
}

// Explain searches for the minimal conjunctions of conditions that carry the
// corruption: all of up to three factors, then extensions of the best 200 of them
// by a fourth. "Nothing separates" is an answer: Result.Causes is empty then.
// Sessions inside a cause are taken out before the next is searched.
//
// P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing (1993): the
// family-wise p-value is the share of permutations of the outcomes, within strata,
// whose best conjunction is as good as the best one seen. Where Bonferroni's bound
// over all conjunctions is below what so many permutations can show, it is given
// instead.
func Explain(t *Table, o Options) Result {
	x := inquiry{Options: o.withDefaults(), t: t, f: newFrame(t)}
	r := Result{All: t.searched(), Left: x.f.left, P: 1}
	r.Unexplained = r.All.K
	for _, c := range x.f.columns {
		r.Factors = append(r.Factors, c.Name)
	}
	x.cells = x.f.all()
	for len(x.f.columns) > 0 && len(r.Causes) < x.Causes && x.next(&r) {
	}
	return r
}
