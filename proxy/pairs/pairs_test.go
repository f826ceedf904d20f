package pairs

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate/stats"
)

// runs is how many equal comparisons are looked at after each pair. The full size is
//
//	go test ./proxy/pairs -run Equal -v -runs 2000
var runs = flag.Int("runs", 100, "comparisons of equal arms")

// sample makes pairs as they come.
type sample struct {
	n       int
	model   string
	prints  [3]string // live, control, candidate; without a control its is ""
	batches [3]int
	ratio   float64
}

func newSample() *sample {
	return &sample{model: "m", prints: [3]string{"live", "ctrl", "cand"}, batches: [3]int{8, 8, 8}, ratio: 1}
}

// outcome of two answers.
func outcome(a, b bool, x, y turn.Arm) turn.Outcome {
	switch {
	case a && b:
		return turn.Both
	case a:
		return turn.Only(x)
	case b:
		return turn.Only(y)
	}
	return turn.BothClean
}

// pair makes a pair of a session of its own; bad says which answers are corrupted.
func (s *sample) pair(live, control, candidate bool) *turn.Pair {
	s.n++
	p := &turn.Pair{V: 1, ID: fmt.Sprint(s.n), Time: time.Unix(int64(s.n), 0), Model: s.model, Session: fmt.Sprint(s.n), Ratio: s.ratio}
	arms, bad := []turn.Arm{turn.Live, turn.Control, turn.Candidate}, []bool{live, control, candidate}
	for i, a := range arms {
		if s.prints[i] == "" {
			continue
		}
		p.Sides = append(p.Sides, turn.Side{Arm: a, State: turn.Paired, Print: s.prints[i], Batch: s.batches[i], Tokens: int64(100 * (1 + s.n%8))})
		for j := range i {
			if s.prints[j] != "" {
				p.Pairs = append(p.Pairs, turn.Twin{A: arms[j], B: a, Outcome: outcome(bad[j], bad[i], arms[j], a), Suspects: turn.BothClean, FirstDiff: -1,
					Finish: true, Names: true, Args: true, Prompt: true})
			}
		}
	}
	return p
}

// failed makes one arm of a pair fail.
func failed(p *turn.Pair, arm turn.Arm) *turn.Pair {
	s := p.Side(arm)
	*s = turn.Side{Arm: arm, State: turn.Failed, Why: "connect"}
	var left []turn.Twin
	for _, t := range p.Pairs {
		if t.A != arm && t.B != arm {
			left = append(left, t)
		}
	}
	p.Pairs = left
	return p
}

func says(t *testing.T, what string, b *Book, word stats.Word, text string) {
	t.Helper()
	if r := b.Report(); r.Word != word || !strings.Contains(r.Text, text) {
		t.Errorf("%s: got %s: %s, want %s: %s", what, r.Word, r.Text, word, text)
	}
}

func TestComparisonsAreKeptApart(t *testing.T) {
	b, s := NewBook(Limits{}), newSample()
	for range 9 {
		b.Add(s.pair(false, false, true))
	}
	says(t, "the first", b, stats.Worse, "9 pairs")
	s.prints[2] = "next"
	b.Add(s.pair(false, false, false))
	r := b.Report()
	if r.Word != stats.Undecided || len(r.Current) != 1 || len(r.Earlier) != 1 || r.Earlier[0].Word != stats.Worse || r.Current[0].Print != "next" {
		t.Errorf("another candidate: got %+v", r)
	}
	s.prints[1] = "other"
	b.Add(s.pair(false, false, false))
	if r := b.Report(); len(r.Earlier) != 2 || r.Current[0].Versus != "other" {
		t.Errorf("another control: got %+v", r)
	}
	s.model = "n"
	for range 9 {
		b.Add(s.pair(false, false, true))
	}
	if r := b.Report(); len(r.Current) != 2 || r.Word != stats.Worse || !r.Rollback || r.Promote {
		t.Errorf("another model: got %s, %d current", r.Word, len(r.Current))
	}
	if r := b.Report().Of("m", ""); len(r.Current) != 1 || r.Rollback {
		t.Errorf("of one model: got %+v", r)
	}
	if r := b.Report().Of("", "cand"); r.Word != stats.Worse || len(r.Current) != 1 || len(r.Earlier) != 0 {
		t.Errorf("of one candidate: got %s, %d and %d", r.Word, len(r.Current), len(r.Earlier))
	}
	s.model, s.prints = "m", [3]string{"live", "ctrl", "cand"}
	b.Add(s.pair(false, false, false))
	if r := b.Report().Of("m", ""); r.Current[0].Print != "cand" || r.Current[0].Corrupted.Pairs != 10 {
		t.Errorf("the first again: got %+v", r.Current[0])
	}
}

func TestWordsThatAreNotComparable(t *testing.T) {
	f := func(what string, set func(*sample), live, control, candidate float64, word stats.Word, text string) {
		t.Helper()
		b, s := NewBook(Limits{}), newSample()
		set(s)
		r := rand.New(rand.NewPCG(1, 1))
		for range 500 {
			b.Add(s.pair(r.Float64() < live, r.Float64() < control, r.Float64() < candidate))
		}
		says(t, what, b, word, text)
		if rep := b.Report(); rep.Promote != (word == stats.Same || word == stats.Better) || rep.Rollback != (word == stats.Worse) {
			t.Errorf("%s: promote %t, rollback %t", what, rep.Promote, rep.Rollback)
		}
	}
	idle := func(s *sample) { s.ratio, s.batches = 0.1, [3]int{16, 2, 2} }
	f("like the live server", func(*sample) {}, 0, 0, 0, stats.Same, "no difference larger than 2 points")
	f("without a control", func(s *sample) { s.prints[1] = "" }, 0.1, 0, 0, stats.NotComparable, "run a control")
	f("without a control and idle", func(s *sample) { idle(s); s.prints[1] = "" }, 0.1, 0, 0, stats.NotComparable, "at -shadow-ratio 0.8 its batch would be")
	f("idle, and what the live server shows is not seen", idle, 0.1, 0, 0, stats.NotComparable, "does not show what the live server does, at another batch; at -shadow-ratio 0.8")
	f("idle, and nothing to be seen", idle, 0, 0, 0, stats.NotComparable, "no difference, but the candidate runs at a batch of 2.0 and the live at 16.0")
	f("idle, and worse all the same", idle, 0, 0, 0.1, stats.Worse, "worse")
	f("idle, and better than the control", idle, 0.1, 0.1, 0, stats.Better, "better")
	f("another batch than the control's", func(s *sample) { s.batches = [3]int{8, 8, 3} }, 0.1, 0.1, 0, stats.NotComparable, "the control at 8.0, further apart than 1.5 times")
	f("a batch that is not known", func(s *sample) { s.batches = [3]int{} }, 0, 0, 0, stats.Same, "no difference")
}

func TestBatchMayBeUnlimited(t *testing.T) {
	b, s := NewBook(Limits{Batch: -1}), newSample()
	s.batches = [3]int{16, 2, 1}
	for range 400 {
		b.Add(s.pair(false, false, false))
	}
	says(t, "no limit", b, stats.Same, "")
}

// TestUnansweredRequestsForbidToPromote, though no answer is corrupted; an outage of a
// minute does not.
func TestUnansweredRequestsForbidToPromote(t *testing.T) {
	f := func(every int, promote bool) {
		t.Helper()
		b, s := NewBook(Limits{}), newSample()
		for range 500 {
			b.Add(s.pair(false, false, false))
		}
		for i := range 20 {
			s.n += every
			b.Add(failed(s.pair(false, false, false), turn.Candidate))
			b.Add(failed(s.pair(false, false, false), turn.Candidate))
			_ = i
		}
		r := b.Report()
		if r.Word != stats.Same || r.Promote != promote || r.Current[0].Unanswered.First != 40 || r.Arms[turn.Candidate].Failed["connect"] != 40 {
			t.Errorf("every %d s: got %s, promote %t, %+v", every, r.Word, r.Promote, r.Current[0].Unanswered)
		}
	}
	f(1, true)
	f(120, false)
}

func TestArmsAddUp(t *testing.T) {
	b, s := NewBook(Limits{}), newSample()
	p := s.pair(false, false, false)
	p.Sides[2] = turn.Side{Arm: turn.Candidate, State: turn.Dropped, Why: "queue"}
	p.Pairs = p.Pairs[:1]
	b.Add(p)
	b.Add(failed(s.pair(false, false, false), turn.Control))
	b.Add(s.pair(false, false, false))
	r := b.Report()
	c, k := r.Arms[turn.Candidate], r.Arms[turn.Control]
	if c.Offered != 3 || c.Paired != 2 || c.Dropped["queue"] != 1 || k.Offered != 3 || k.Paired != 2 || k.Failed["connect"] != 1 {
		t.Errorf("got %+v and %+v", c, k)
	}
	if _, ok := r.Arms[turn.Live]; ok {
		t.Error("the live server is no arm")
	}
}

// TestSuspectsAreWeighedApart: they make no word, and are told.
func TestSuspectsAreWeighedApart(t *testing.T) {
	b, s := NewBook(Limits{}), newSample()
	for range 500 {
		p := s.pair(false, false, false)
		if s.n%10 == 0 {
			p.Twin(turn.Control, turn.Candidate).Suspects = turn.Only(turn.Candidate)
		}
		b.Add(p)
	}
	says(t, "suspects", b, stats.Same, "by suspect turns, which convict nobody, it is worse")
	if c := b.Report().Current[0]; c.Suspect.Word != stats.Worse || c.Corrupted.Word != stats.Same || !c.Promote {
		t.Errorf("got %s of suspects, %s of corrupted, promote %t", c.Suspect.Word, c.Corrupted.Word, c.Promote)
	}
}

// TestReportIsJSON whatever was counted: no number in it is beyond what JSON holds.
func TestReportIsJSON(t *testing.T) {
	b, s := NewBook(Limits{}), newSample()
	for range 3000 {
		b.Add(s.pair(false, false, true))
	}
	text, err := json.Marshal(b.Report())
	var back Report
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || back.Word != stats.Worse || len(back.Current[0].Strata) != 3 || back.Current[0].Corrupted.EWorse < 1e100 {
		t.Errorf("got %v, %s", err, text)
	}
}

// TestEqualArmsAreSeldomCalledUnequal: looked at after each pair, words and all.
func TestEqualArmsAreSeldomCalledUnequal(t *testing.T) {
	for _, rate := range []float64{0.02, 0.15} {
		wrong := 0
		for seed := range uint64(*runs) {
			r := rand.New(rand.NewPCG(seed+1, 11))
			b, s := NewBook(Limits{}), newSample()
			for range 400 {
				b.Add(s.pair(r.Float64() < rate, r.Float64() < rate, r.Float64() < rate))
				if w := b.all[0].corrupted.Word(0.02); w == stats.Worse || w == stats.Better {
					wrong++
					break
				}
			}
		}
		t.Logf("at %v: %d of %d called worse or better", rate, wrong, *runs)
		if stats.Lower(wrong, *runs, 0.99) > 0.05 {
			t.Errorf("at %v: got %d of %d, which 5%% does not explain", rate, wrong, *runs)
		}
	}
}
