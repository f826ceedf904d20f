package stats

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

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
	r, t := rand.New(rand.NewPCG(seed, 11)), NewTable(w.factors...)
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

// all reports a rate where the first n flags are on.
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

func exact(r Result, want string) bool {
	if len(r.Causes) == 0 {
		return false
	}
	names := strings.Split(r.Causes[0].Conjunction.String(), " ∧ ")
	slices.Sort(names)
	return strings.Join(names, " ∧ ") == want
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

func TestExplainNamesPlantedFlags(t *testing.T) {
	factors, levels := flags(3)
	w := world{factors: factors, sessions: 800, levels: levels, rate: where(3, 0.15, 0)}
	found := 0
	for seed := range uint64(20) {
		found += int(bit(exact(Explain(w.table(seed+1), Options{Seed: seed}), "cuda_graph=on ∧ index_dtype=on ∧ overlap=on")))
	}
	if found < 18 {
		t.Errorf("the planted set first in %d of 20", found)
	}
}

func TestExplainNothing(t *testing.T) {
	w := journal(300, func([]string) float64 { return 0.03 })
	found := 0
	for seed := range uint64(10) {
		found += len(Explain(w.table(seed+1), Options{Seed: seed}).Causes)
	}
	if found > 3 {
		t.Errorf("%d causes in 10 worlds without one", found)
	}
}

func TestNothingToSearchIsAnAnswer(t *testing.T) {
	table := NewTable(Factor{Name: "constant"})
	for i := range 10 {
		table.Add(Row{Levels: []string{"on"}, Corrupted: i == 0})
	}
	if r := Explain(table, Options{Seen: true}); len(r.Causes) > 0 || r.Unexplained != 1 || r.P != 1 {
		t.Errorf("got %+v, want no cause", r)
	}
}
