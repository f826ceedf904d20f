package report

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestOriginIsExplained(t *testing.T) {
	r := Make(read(t, world{seed: 1, sessions: 2400, boots: 3, inside: 0.6, cause: origin}.lines(), "-"), Options{Seed: 1})
	e := r.Explained[0]
	want := "cuda_graph=on ∧ index_dtype=bf16 ∧ overlap=on ∧ batch≥2"
	if e.Outcome != "corrupted" || e.Word != "separated" || len(e.Causes) != 1 || e.Causes[0].Text != want {
		t.Errorf("got %+v, want %s", e, want)
	}
	var b strings.Builder
	r.Text(&b)
	if p := os.Getenv("REPORT_OUT"); p != "" {
		fmt.Println(b.String())
		f, _ := os.Create(p)
		r.HTML(f)
		f.Close()
	}
}

// Where no permutation was made the p-value is a bound, or nothing was tested.
func TestBoundIsSaidWhereNoPermutationWasMade(t *testing.T) {
	for want, e := range map[string]Explained{
		"75 conjunctions of 0 factors, Bonferroni's bound": {Tried: 75, P: 3e-5},
		"40 conjunctions of 0 factors":                     {Tried: 40, P: 1},
		"75 conjunctions of 0 factors, 1000 permutations":  {Tried: 75, P: 0.02, Permutations: 1000},
	} {
		if got := e.searched(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
