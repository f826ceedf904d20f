package stats

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// worlds is how many journals each rate of Explain is taken from; world i has the
// seed i, from 1 up. The full size is
//
//	go test ./validate/stats -run Explain -v -worlds 200
//
// and takes some minutes; few worlds are also searched with fewer permutations.
var worlds = flag.Int("worlds", 8, "simulated journals of each kind that Explain is asked about")

func searched(seed uint64) Options {
	if *worlds < 100 {
		return Options{Seed: seed, Permutations: 200}
	}
	return Options{Seed: seed}
}

// world is a journal to simulate: factors, how a session draws their levels, and
// the share of corrupted sessions under them.
type world struct {
	factors  []Factor
	sessions int
	levels   func(r *rand.Rand, i int) []string
	rate     func(levels []string) float64
	stratum  func(levels []string) string
	boot     func(levels []string) string
}

// table simulates it.
func (w world) table(seed uint64) *Table {
	r, t := rand.New(rand.NewChaCha8(key(^seed))), NewTable(w.factors...)
	for i := range w.sessions {
		levels := w.levels(r, i)
		row := Row{Levels: levels, Corrupted: r.Float64() < w.rate(levels)}
		if w.stratum != nil {
			row.Stratum = w.stratum(levels)
		}
		if w.boot != nil {
			row.Boot = w.boot(levels)
		}
		t.Add(row)
	}
	return t
}

// flags are boolean factors, and their balanced factorial: session i runs under
// the bits of i.
func flags(n int) (factors []Factor, levels func(r *rand.Rand, i int) []string) {
	names := []string{"index_dtype", "cuda_graph", "overlap", "spec", "lora", "tp2", "chunked", "radix"}
	for _, name := range names[:n] {
		factors = append(factors, Factor{Name: name})
	}
	return factors, func(_ *rand.Rand, i int) []string {
		all := make([]string, n)
		for j := range all {
			all[j] = []string{"off", "on"}[i>>j&1]
		}
		return all
	}
}

// where makes a rate that differs where the first n levels are on.
func where(n int, inside, outside float64) func([]string) float64 {
	return func(levels []string) float64 {
		for _, l := range levels[:n] {
			if l != "on" {
				return outside
			}
		}
		return inside
	}
}

// named returns the conditions of the first cause in order of their names.
func named(r Result) string {
	if len(r.Causes) == 0 {
		return ""
	}
	return sorted(r.Causes[0].Conjunction)
}

func sorted(c Conjunction) string {
	names := strings.Split(c.String(), " ∧ ")
	slices.Sort(names)
	return strings.Join(names, " ∧ ")
}

// share asks Explain about n worlds and fails where the answers that are right
// contradict the share wanted of them at 99%.
func share(t *testing.T, what string, w world, want float64, right func(Result) bool) {
	t.Helper()
	n, wrong := 0, ""
	for seed := range uint64(*worlds) {
		r := Explain(w.table(seed+1), searched(seed+1))
		if right(r) {
			n++
		} else {
			wrong = fmt.Sprint(r.Causes)
		}
	}
	t.Logf("%s: right in %d of %d worlds; wrong: %s", what, n, *worlds, wrong)
	if Upper(n, *worlds, 0.99) < want {
		t.Errorf("%s: right in %d of %d worlds, want %v of them; wrong: %s", what, n, *worlds, want, wrong)
	}
}

var planted = []string{"", "index_dtype=on", "cuda_graph=on ∧ index_dtype=on", "cuda_graph=on ∧ index_dtype=on ∧ overlap=on",
	"cuda_graph=on ∧ index_dtype=on ∧ overlap=on ∧ spec=on"}

// In a balanced factorial of 100 sessions a cell, none corrupted outside, the
// planted set is the first cause, no condition more or less.
func TestExplainFactorial(t *testing.T) {
	for _, c := range []struct{ flags, planted, sessions int }{{3, 1, 800}, {3, 2, 800}, {3, 3, 800}, {4, 2, 1600}, {4, 3, 1600}, {4, 4, 1600}} {
		factors, levels := flags(c.flags)
		w := world{factors: factors, sessions: c.sessions, levels: levels, rate: where(c.planted, 0.15, 0)}
		share(t, fmt.Sprintf("%+v", c), w, 0.93, func(r Result) bool { return named(r) == planted[c.planted] })
	}
}

// With half the sessions the set is not always told. What is missing of it then
// stands as not yet separated, with the sessions it takes.
func TestExplainTellsWhatIsNotYetSeparated(t *testing.T) {
	factors, levels := flags(3)
	w := world{factors: factors, sessions: 400, levels: levels, rate: where(3, 0.15, 0)}
	told, some := 0, 0
	for seed := range uint64(*worlds) {
		r := Explain(w.table(seed+1), searched(seed+1))
		if len(r.Causes) == 0 {
			continue
		}
		e := &r.Causes[0]
		some++
		told += int(bit(named(r) == planted[3]))
		if sorted(e.Whole()) != planted[3] {
			t.Errorf("seed %d: %v with %v, want all of %s", seed+1, e.Conjunction, e.Open, planted[3])
		}
		for _, o := range e.Open {
			if o.P*float64(len(e.Whole())) <= 0.05 || o.More == 0 || o.With.K == 0 || !asked(e.Next, o) {
				t.Errorf("seed %d: %v is open: %+v, next %v", seed+1, o, o, e.Next)
			}
		}
	}
	t.Logf("power at 400 sessions: a cause in %d of %d, the planted set in %d", some, *worlds, told)
	if some < *worlds/2 {
		t.Errorf("a cause in %d of %d worlds", some, *worlds)
	}
}

// asked reports whether some cell asks for the sessions that o lacks.
func asked(cells []Cell, o Open) bool {
	return slices.ContainsFunc(cells, func(c Cell) bool { return c.Seen == o.Without && c.Fixed >= o.More && c.PeekSafe >= c.Fixed })
}

// journal is a world of ten tags with 28 levels, drawn at random.
func journal(sessions int, rate func([]string) float64) world {
	names := []Factor{{Name: "index_dtype"}, {Name: "cuda_graph"}, {Name: "overlap"}, {Name: "spec"}, {Name: "lora"},
		{Name: "tp"}, {Name: "version"}, {Name: "host"}, {Name: "batch", Scale: Ordinal}, {Name: "output_tokens", Scale: Ordinal}}
	values := [][]string{{"off", "on"}, {"off", "on"}, {"off", "on"}, {"off", "on"}, {"off", "on"},
		{"1", "2", "4"}, {"a", "b", "c"}, {"h1", "h2", "h3", "h4"}, {"1", "2", "4", "8"}, {"64", "128", "256", "512"}}
	return world{factors: names, sessions: sessions, rate: rate, levels: func(r *rand.Rand, _ int) []string {
		all := make([]string, len(values))
		for i, v := range values {
			all[i] = v[r.IntN(len(v))]
		}
		return all
	}}
}

// Without a cause, one is named in 5% of the worlds at most.
func TestExplainNothing(t *testing.T) {
	n, found := 2**worlds, 0
	w := journal(300, func([]string) float64 { return 0.03 })
	for seed := range uint64(n) {
		found += min(1, len(Explain(w.table(seed+1), searched(seed+1)).Causes))
	}
	t.Logf("a cause in %d of %d worlds without one, %d allowed", found, n, allowed(n))
	if found > allowed(n) {
		t.Errorf("a cause in %d of %d worlds without one, which 5%% does not explain", found, n)
	}
}

// Among ten tags drawn at random and a background of its own the planted set is
// found too.
func TestExplainPlanted(t *testing.T) {
	is := func(want string) func(Result) bool { return func(r Result) bool { return named(r) == want } }
	share(t, "one way", journal(600, where(1, 0.15, 0.005)), 0.9, is(planted[1]))
	share(t, "two ways", journal(800, where(2, 0.15, 0.005)), 0.9, is(planted[2]))
	share(t, "three ways", journal(1600, where(3, 0.15, 0.002)), 0.9, is(planted[3]))
	share(t, "with a threshold", journal(1200, func(l []string) float64 {
		if l[0] == "on" && l[1] == "on" && l[8] != "1" {
			return 0.15
		}
		return 0
	}), 0.8, is("batch≥2 ∧ cuda_graph=on ∧ index_dtype=on"))
}

// A tag that mostly comes with the cause is not taken for it.
func TestExplainConfounder(t *testing.T) {
	w := journal(1000, where(1, 0.15, 0.002))
	plain := w.levels
	w.levels = func(r *rand.Rand, i int) []string {
		l := plain(r, i)
		if r.Float64() < 0.8 {
			l[7] = map[string]string{"on": "h1", "off": "h2"}[l[0]]
		}
		return l
	}
	share(t, "a tag beside the cause", w, 0.9, func(r Result) bool { return named(r) == planted[1] })

	// Days differ in rate and load: within days nothing separates.
	day := func(l []string) string { return map[string]string{"off": "a", "on": "b"}[l[4]] }
	w = journal(600, func(l []string) float64 { return map[string]float64{"a": 0.01, "b": 0.2}[day(l)] })
	w.stratum, plain = day, w.levels
	w.levels = func(r *rand.Rand, i int) []string {
		l := plain(r, i)
		if l[4] == "on" {
			l[8] = "8"
		}
		return l
	}
	share(t, "a day beside the load", w, 0.95, func(r Result) bool { return len(r.Causes) == 0 })
	w.stratum = func([]string) string { return "" }
	share(t, "taken together", w, 0.9, func(r Result) bool { return len(r.Causes) > 0 })
}

// Tags that always go together are named as such, with the two cells that would
// tell them apart.
func TestExplainAlias(t *testing.T) {
	w := journal(600, where(1, 0.15, 0))
	plain := w.levels
	w.levels = func(r *rand.Rand, i int) []string {
		l := plain(r, i)
		l[7] = map[string]string{"on": "h1", "off": "h2"}[l[0]]
		return l
	}
	share(t, "an alias", w, 0.9, func(r Result) bool {
		if named(r) != planted[1] {
			return false
		}
		e := &r.Causes[0]
		cells := Conjunction{{"index_dtype", "=", "on"}, {"host", "=", "h2"}}.String() + Conjunction{{"host", "=", "h1"}, {"index_dtype", "=", "off"}}.String()
		return len(e.Aliases) == 1 && e.Aliases[0].Instead.String() == "host=h1" && len(e.Next) == 2 &&
			e.Next[0].Conjunction.String()+e.Next[1].Conjunction.String() == cells && e.Next[0].Fixed > 0
	})
}

// What follows from a setting cannot be kept while the setting changes: no such
// cell is asked for.
func TestExplainAsksForWhatCanBeRun(t *testing.T) {
	table := NewTable(Factor{Name: "cuda_graph"}, Factor{Name: "graph_bucket", Scale: Graded, From: []string{"cuda_graph"}})
	for i := range 80 {
		levels := []string{"on", "24"}
		if i%2 == 1 {
			levels = []string{"off", "0"}
		}
		table.Add(Row{Levels: levels, Corrupted: i%4 == 0})
	}
	r := Explain(table, Options{Seed: 1, Permutations: 200})
	if len(r.Causes) != 1 || len(r.Causes[0].Aliases) != 1 || len(r.Causes[0].Next) != 1 {
		t.Fatalf("got %+v, want one cause with an alias and one cell", r.Causes)
	}
	if got := r.Causes[0].Next[0].Conjunction.String(); got != "cuda_graph=on ∧ graph_bucket=0" {
		t.Errorf("got %s; want graphs on, of another size", got)
	}
}

// Two causes at once are both named.
func TestExplainTwoCauses(t *testing.T) {
	w := journal(1600, func(l []string) float64 {
		switch {
		case l[0] == "on" && l[1] == "on":
			return 0.15
		case l[4] == "on" && l[5] == "4":
			return 0.15
		}
		return 0
	})
	share(t, "two causes", w, 0.9, func(r Result) bool {
		if len(r.Causes) != 2 {
			return false
		}
		names := []string{sorted(r.Causes[0].Conjunction), sorted(r.Causes[1].Conjunction)}
		slices.Sort(names)
		return names[0] == planted[2] && names[1] == "lora=on ∧ tp=4"
	})
}

// Two causes that share a condition are both named, not that condition.
func TestExplainCausesThatShareACondition(t *testing.T) {
	w := journal(1600, func(l []string) float64 {
		if l[0] == "on" && (l[1] == "on" || l[5] == "4") {
			return 0.15
		}
		return 0
	})
	share(t, "causes that share a condition", w, 0.9, func(r Result) bool {
		if len(r.Causes) != 2 {
			return false
		}
		names := []string{sorted(r.Causes[0].Conjunction), sorted(r.Causes[1].Conjunction)}
		slices.Sort(names)
		return names[0] == planted[2] && names[1] == "index_dtype=on ∧ tp=4"
	})
}

// What corrupts is an abort nearby, for those that share a prefix with it.
func TestExplainAbort(t *testing.T) {
	w := journal(1200, func(l []string) float64 {
		if l[10] == "on" && l[11] == "on" {
			return 0.25
		}
		return 0.002
	})
	w.factors = append(w.factors, Factor{Name: "abort_near"}, Factor{Name: "prefix_shared"})
	plain := w.levels
	w.levels = func(r *rand.Rand, i int) []string {
		return append(plain(r, i), []string{"off", "on"}[bit(r.Float64() < 0.2)], []string{"off", "on"}[bit(r.Float64() < 0.4)])
	}
	share(t, "an abort", w, 0.9, func(r Result) bool { return named(r) == "abort_near=on ∧ prefix_shared=on" })
}

// Long answers have more chances: length is named where it is all, and beside the
// cause it does not hide it.
func TestExplainLength(t *testing.T) {
	rate := func(hazard float64) func([]string) float64 {
		return func(l []string) float64 {
			return map[string]float64{"64": 1, "128": 2, "256": 4, "512": 8}[l[9]] * hazard
		}
	}
	share(t, "length alone", journal(800, rate(0.02)), 0.9, func(r Result) bool {
		return strings.HasPrefix(named(r), "output_tokens≥") && len(r.Causes[0].Conjunction) == 1
	})
	share(t, "length and a flag", journal(800, func(l []string) float64 {
		if l[0] == "on" {
			return rate(0.03)(l)
		}
		return 0
	}), 0.9, func(r Result) bool { return strings.Contains(named(r), planted[1]) })
}

// race reads the sessions of a recorded race, outcomes shuffled by a seed beyond 0.
func race(t *testing.T, bucket bool, outcome int, seed uint64) *Table {
	t.Helper()
	b, err := os.ReadFile("testdata/race.txt")
	if err != nil {
		t.Fatal(err)
	}
	factors := []Factor{{Name: "index_dtype"}, {Name: "cuda_graph"}, {Name: "overlap"}, {Name: "batch", Scale: Ordinal}}
	if bucket {
		factors = append(factors, Factor{Name: "graph_bucket", Scale: Graded, From: []string{"cuda_graph", "batch"}})
	}
	var rows []Row
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f, n := strings.Fields(line), [3]int{}
		if _, err := fmt.Sscan(strings.Join(f[6:], " "), &n[0], &n[1], &n[2]); err != nil {
			t.Fatal(err)
		}
		for i := range n[0] {
			rows = append(rows, Row{Levels: []string{f[0], f[1], f[2], f[4], f[3]}[:len(factors)], Boot: f[5], Corrupted: i < n[outcome]})
		}
	}
	if seed > 0 {
		r := rand.New(rand.NewChaCha8(key(^seed)))
		r.Shuffle(len(rows), func(i, j int) { rows[i].Corrupted, rows[j].Corrupted = rows[j].Corrupted, rows[i].Corrupted })
	}
	table := NewTable(factors...)
	for _, row := range rows {
		table.Add(row)
	}
	return table
}

// A race recorded on a GPU is named by what it needs, and what that implies.
func TestExplainRace(t *testing.T) {
	f := func(bucket bool, outcome int, want string) *Explanation {
		t.Helper()
		r := Explain(race(t, bucket, outcome, 0), Options{})
		if len(r.Causes) != 1 || r.Causes[0].Conjunction.String() != want || len(r.Causes[0].Open) > 0 {
			t.Fatalf("got %v, want %s", r.Causes, want)
		}
		return &r.Causes[0]
	}
	for outcome := 1; outcome <= 2; outcome++ {
		e := f(true, outcome, "index_dtype=bf16 ∧ overlap=on ∧ graph_bucket=32")
		if i := e.Implied[0]; i.If.String() != "graph_bucket=32" || i.Then.String() != "cuda_graph=on" || !i.Derived {
			t.Errorf("implied: %+v", e.Implied)
		}
		if e.Boots.String() != "boots inside: 1 – confounded with the boot; repeat in ≥ 3 boots" || e.Boots.P != 1 {
			t.Errorf("boots: %+v: %s", e.Boots, e.Boots)
		}
		f(false, outcome, "index_dtype=bf16 ∧ cuda_graph=on ∧ overlap=on ∧ batch≥17")
	}
}

func TestExplainRaceShuffled(t *testing.T) {
	found := 0
	for seed := range uint64(*worlds) {
		found += min(1, len(Explain(race(t, true, 2, seed+1), searched(seed+1)).Causes))
	}
	t.Logf("a cause in %d of %d shuffles", found, *worlds)
	if found > allowed(*worlds) {
		t.Errorf("a cause in %d of %d shuffles", found, *worlds)
	}
}
