package report

import (
	"fmt"
	"math/bits"

	"turnwatch/proxy/turn"
	"turnwatch/validate/stats"
)

// Audit is what turns with known answers, sent to the server as probes, say of the server
// and of the judge. Its intervals hold however often one looks.
type Audit struct {
	Right   int       `json:"right"`
	Wrong   int       `json:"wrong"`
	Unknown int       `json:"unknown"` // no answer, or one that ran out of tokens
	Share   Share     `json:"wrong_share"`
	Told    Audited   `json:"told"`      // findings or signals, of any kind
	Found   Audited   `json:"corrupted"` // findings, of any kind
	Kinds   []Audited `json:"kinds"`
}

// Audited is how often a kind was told of wrong answers, and of right ones.
type Audited struct {
	Kind   string `json:"kind"`
	Recall Share  `json:"recall"`
	False  Share  `json:"false_alarms"`
}

// audit adds up the probes that the options choose; nil for none.
func (d *Data) audit(o Options) *Audit {
	arm, ok := d.arms.number[string(turn.Probe)]
	if !ok {
		return nil
	}
	v := d.view(func(r *row) bool {
		return r.arm == arm && (o.Model == "" || d.models.all[r.model] == o.Model) && within(r.at, o.Since, o.Until)
	})
	a := new(Audit)
	var told [64]hits
	var any, found hits
	for _, r := range v.rows {
		if r.flags&isKnown == 0 {
			a.Unknown++
			continue
		}
		wrong := r.flags&isWrong != 0
		if wrong {
			a.Wrong++
		} else {
			a.Right++
		}
		kinds := r.kinds | r.parser | r.signals
		any.add(kinds != 0, wrong)
		found.add(r.outcome == corrupted, wrong)
		for ; kinds != 0; kinds &= kinds - 1 {
			told[bits.TrailingZeros64(kinds)].add(true, wrong)
		}
	}
	if len(v.rows) == 0 {
		return nil
	}
	a.fill(&d.kinds, told[:], any, found)
	return a
}

// hits is of how many wrong answers, and of right ones, something was told.
type hits struct{ wrong, right int }

func (h *hits) add(told, wrong bool) {
	switch {
	case !told:
	case wrong:
		h.wrong++
	default:
		h.right++
	}
}

func (a *Audit) fill(names *kindTable, told []hits, any, found hits) {
	a.Share = sequence(a.Wrong, a.Right+a.Wrong)
	a.Told, a.Found = a.audited("", any), a.audited("", found)
	a.Kinds = []Audited{}
	for bit, h := range told {
		if h != (hits{}) {
			a.Kinds = append(a.Kinds, a.audited(names.name(bit), h))
		}
	}
}

func (a *Audit) audited(kind string, h hits) Audited {
	return Audited{kind, sequence(h.wrong, a.Wrong), sequence(h.right, a.Right)}
}

// sequence is a share with its always-valid 95% interval.
func sequence(k, n int) Share {
	s := Share{N: k, Of: n, Rate: stats.Arm{K: k, N: n}.Rate(), High: 1}
	if n > 0 {
		s.Low, s.High = (stats.Prior{}).Sequence(k, n, 0.95)
	}
	return s
}

// probed tells what probes showed.
func (r *Report) probed() section {
	s := section{id: "probes", title: "Probes: turns with known answers"}
	a := r.Audit
	if a == nil {
		return s
	}
	s.para("Of %d answers to probes that could be graded %s came back wrong %s, whether or not anything was told of them. The intervals hold however often one looks. Probes are in no other rate.",
		a.Right+a.Wrong, a.Share.of(), a.Share.interval())
	t := table{head: []string{"told", "of wrong answers", "95%", "of right answers", "95%"}, right: "lrrrr"}
	row := func(name string, k Audited) {
		t.rows = append(t.rows, []string{name, k.Recall.of(), k.Recall.interval(), k.False.of(), k.False.interval()})
	}
	row("anything", a.Told)
	row("corrupted", a.Found)
	for _, k := range a.Kinds {
		row(plain(k.Kind), k)
	}
	s.add(t)
	if a.Unknown > 0 {
		s.para("%s could not be graded.", plural(a.Unknown, "answer"))
	}
	return s
}

func plural(n int, what string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
