package stats

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// rows adds n sessions of which k are corrupted.
func rows(t *Table, n, k int, boot string, levels ...string) {
	for i := range n {
		t.Add(Row{Levels: levels, Boot: boot, Corrupted: i < k})
	}
}

func TestExplainOfLittle(t *testing.T) {
	f := func(why string, factors []Factor, fill func(*Table)) Result {
		t.Helper()
		table := NewTable(factors...)
		fill(table)
		r := Explain(table, Options{Seen: true})
		if len(r.Causes) > 0 || !(0 < r.P && r.P <= 1) {
			t.Errorf("%s: causes %v, p %v", why, r.Causes, r.P)
		}
		return r
	}
	two := []Factor{{Name: "a"}, {Name: "b", Scale: Ordinal}}
	f("no session", two, func(*Table) {})
	f("no factor", nil, func(t *Table) { rows(t, 40, 6, "") })
	f("none corrupted", two, func(t *Table) { rows(t, 40, 0, "", "x", "1"); rows(t, 40, 0, "", "y", "2") })
	f("all corrupted", two, func(t *Table) { rows(t, 40, 40, "", "x", "1"); rows(t, 40, 40, "", "y", "2") })
	f("rows too short", two, func(t *Table) { rows(t, 40, 6, ""); rows(t, 40, 6, "", "x") })
	f("two corrupted", two, func(t *Table) { rows(t, 4, 2, "", "x", "1"); rows(t, 4000, 0, "", "y", "2") })
	r := f("one level each", two, func(t *Table) { rows(t, 40, 6, "", "x", "no number") })
	if len(r.Left) != 2 || r.Left[0].Why != "the same in all sessions" || r.Left[1].Why != "not known" {
		t.Errorf("left out: %v", r.Left)
	}
	r = f("6 of 40 against 2 of 40", two, func(t *Table) { rows(t, 40, 6, "", "x", "1"); rows(t, 40, 2, "", "y", "1") })
	if r.Nearest == nil || r.Nearest.String() != "a=x" || r.Nearest.Inside != (Arm{6, 40}) || r.Nearest.Next[0].Fixed != RuleOutN(0.15, 0.95) {
		t.Errorf("nearest: %+v", r.Nearest)
	}
}

// Of very many factors the first are searched, and of very many names the frequent.
func TestExplainBounds(t *testing.T) {
	factors, r := []Factor{{Name: "host"}}, rand.New(rand.NewPCG(1, 14))
	for i := range 40 {
		factors = append(factors, Factor{Name: "flag" + strconv.Itoa(i)})
	}
	table := NewTable(factors...)
	for i := range 600 {
		levels := []string{"h" + strconv.Itoa(min(i%100, 70))}
		for range 40 {
			levels = append(levels, strconv.Itoa(r.IntN(2)))
		}
		table.Add(Row{Levels: levels, Corrupted: levels[0] == "h70" && r.Float64() < 0.2})
	}
	res := Explain(table, Options{Permutations: 20})
	if len(res.Factors) != mostFactors || len(res.Left) != 10 || res.Left[0] != (Left{"host", "7 levels of the fewest sessions"}) {
		t.Errorf("%d factors searched, left out: %v", len(res.Factors), res.Left)
	}
	if named(res) != "host=h70" {
		t.Errorf("got %v", res.Causes)
	}
}

func TestExplainBoots(t *testing.T) {
	f := func(inside, outside int, want string, confounded bool) {
		t.Helper()
		table := NewTable(Factor{Name: "dtype"}, Factor{Name: "batch", Scale: Ordinal})
		for i := range inside {
			rows(table, 120/inside, 24/inside, string(rune('a'+i)), "bf16", "8")
			rows(table, 40, 0, string(rune('a'+i)), "bf16", "1")
		}
		for i := range outside {
			rows(table, 160/outside, 0, string(rune('A'+i)), "fp8", "8")
		}
		e := Explain(table, Options{}).Causes[0]
		if got := e.Boots.String(); e.Conjunction.String() != "dtype=bf16 ∧ batch≥2" || got != want || e.Boots.Confounded() != confounded {
			t.Errorf("%d and %d boots: %v: got %q, confounded %v, want %q", inside, outside, e.Conjunction, got, e.Boots.Confounded(), want)
		}
	}
	f(1, 4, "boots inside: 1 – confounded with the boot; repeat in ≥ 3 boots", true)
	f(2, 2, "boots inside: 2 – confounded with the boot; repeat in ≥ 3 boots", true)
	f(4, 2, "boots outside: 2 – confounded with the boot; repeat in ≥ 3 boots", true)
	f(3, 4, "boots inside: 3, outside: 4, p with the boot as the unit = 0.029", false)
}

// Sessions that came later confirm a cause, or do not.
func TestExplainConfirms(t *testing.T) {
	f := func(rate float64) *Confirmation {
		table := NewTable(Factor{Name: "a"})
		rows(table, 100, 15, "", "x")
		rows(table, 100, 0, "", "y")
		r := rand.New(rand.NewPCG(1, 13))
		for i := range 400 {
			row := Row{Levels: []string{[]string{"x", "y"}[i%2]}, New: true}
			row.Corrupted = i%2 == 0 && r.Float64() < rate
			table.Add(row)
		}
		res := Explain(table, Options{})
		if res.All != (Arm{15, 200}) || res.Causes[0].Inside != (Arm{15, 100}) {
			t.Errorf("new sessions took part in the search: %v", res.All)
		}
		return res.Causes[0].Fresh
	}
	if c := f(0.15); !(c.P < 0.01) || c.Inside.N != 200 || c.Outside.K != 0 {
		t.Errorf("confirmed: %+v", c)
	}
	if c := f(0); c.P != 1 || c.Inside.K != 0 {
		t.Errorf("refuted: %+v", c)
	}
}

// A threshold says what data leave open around it; a gap in the data is asked for.
func TestExplainThreshold(t *testing.T) {
	table := NewTable(Factor{Name: "graph"}, Factor{Name: "lora"}, Factor{Name: "batch", Scale: Ordinal})
	for _, b := range []string{"1", "2", "4"} {
		rows(table, 100, 0, "", "on", "off", b)
	}
	rows(table, 5, 1, "", "on", "on", "8")
	rows(table, 100, 15, "", "on", "on", "16")
	rows(table, 100, 0, "", "off", "off", "16")
	rows(table, 100, 0, "", "off", "on", "1")
	e := Explain(table, Options{}).Causes[0]
	if e.Conjunction.String() != "graph=on ∧ lora=on" || len(e.Aliases) == 0 || e.Aliases[0].Instead.String() != "batch≥5" {
		t.Fatalf("%v, aliases %v", e.Conjunction, e.Aliases)
	}
	if got := e.Next[0].Conjunction.String() + "; " + e.Next[1].Conjunction.String(); got != "graph=on ∧ lora=on ∧ batch≤4; graph=on ∧ batch≥5 ∧ lora=off" {
		t.Errorf("next: %s", got)
	}
}

func TestConditionHolds(t *testing.T) {
	f := func(c Condition, level string, want bool) {
		t.Helper()
		if got := c.Holds(level); got != want {
			t.Errorf("%v of %q: got %v, want %v", c, level, got, want)
		}
	}
	f(Condition{"a", "=", "on"}, "on", true)
	f(Condition{"a", "=", "on"}, "off", false)
	f(Condition{"a", "=", ""}, "", false)
	f(Condition{"b", "≥", "17"}, "17", true)
	f(Condition{"b", "≥", "17"}, "9", false)
	f(Condition{"b", "≤", "17"}, "9", true)
	f(Condition{"b", "≤", "17"}, "many", false)
}

// Whatever the sessions are: no panic, counts add up, probabilities are such.
func FuzzExplain(f *testing.F) {
	f.Add([]byte("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99"), uint8(4), uint64(1))
	f.Add([]byte(strings.Repeat("\x01\x12\x23\x80\xff", 30)), uint8(5), uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, factors uint8, seed uint64) {
		n := int(factors % 6)
		if len(data) > 600 {
			return
		}
		var fs []Factor
		for i := range n {
			fs = append(fs, Factor{Name: string(rune('a' + i)), Scale: Scale(i % 3)})
		}
		table := NewTable(fs...)
		for i := 0; i+n < len(data); i += n + 1 {
			var levels []string
			for _, b := range data[i : i+n] {
				levels = append(levels, []string{"", "0", "1", "2", "30", "31", "65", "1000", "x"}[b%9])
			}
			b := data[i+n]
			table.Add(Row{Levels: levels, Corrupted: b&1 > 0, New: b&6 == 6, Stratum: string(rune('a' + b>>6)), Boot: []string{"", "1", "2", "3"}[b>>3&3]})
		}
		r := Explain(table, Options{Seed: seed, Permutations: 50, Alpha: 0.5, Seen: true})
		found := r.Unexplained
		for _, e := range r.Causes {
			check(t, &e)
			found += e.Inside.K
		}
		if r.Nearest != nil {
			check(t, r.Nearest)
		}
		if found != r.All.K {
			t.Fatalf("%d corrupted sessions explained and not, of %d", found, r.All.K)
		}
	})
}

func check(t *testing.T, e *Explanation) {
	t.Helper()
	probability(t, "P", e.P)
	probability(t, "raw", e.Raw)
	probability(t, "boots", e.Boots.P)
	probability(t, "coverage", e.Coverage())
	if len(e.Whole()) == 0 || len(e.Whole()) > 4 || e.Inside.K > e.Inside.N || math.IsNaN(e.P) {
		t.Fatalf("%+v", e)
	}
	for _, c := range e.Next {
		if c.Fixed < 0 || c.PeekSafe < c.Fixed {
			t.Fatalf("cell %+v", c)
		}
	}
}
