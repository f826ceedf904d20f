package proxy

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
	"turnwatch/validate/stats"
)

// probeBook adds up what probes showed.
type probeBook struct {
	mu      sync.Mutex
	cells   map[probeCell]*stats.Arm      // wrong answers of all that are graded
	kinds   map[validate.Kind]*probeAudit // by what was told of a turn
	graded  map[turn.Answer]int           // by answer
	demoted map[validate.Kind]bool        // signals from now on
	proved  bool                          // that more than usual are wrong, and that was said
	skipped tally
}

// probeCell is under which conditions a probe was made.
type probeCell struct{ batch, fingerprint string }

// probeAudit is of how many wrong and of how many right answers a kind was told,
// and of how many of those it was a finding.
type probeAudit struct{ wrong, right, convicted int }

// maxProbeCells bounds the cells; later ones are one.
const maxProbeCells = 64

func newProbeBook() probeBook {
	return probeBook{cells: map[probeCell]*stats.Arm{}, kinds: map[validate.Kind]*probeAudit{},
		graded: map[turn.Answer]int{}, demoted: map[validate.Kind]bool{}}
}

func (b *probeBook) skip(why string) { b.skipped.add(why, 1) }

// probeRange is the range that a batch is put into.
func probeRange(batch string) string {
	n, err := strconv.Atoi(batch)
	if err != nil || n < 1 {
		return "unknown"
	}
	low := 1
	for _, high := range []int{1, 4, 8, 16, 32, 64, 128} {
		if n <= high {
			if low == high {
				return strconv.Itoa(high)
			}
			return strconv.Itoa(low) + "-" + strconv.Itoa(high)
		}
		low = high + 1
	}
	return "129+"
}

// probeNews is what a probe showed beyond doubt for the first time.
type probeNews struct {
	proved  *stats.Arm // wrong answers of all
	demoted []validate.Kind
}

// add takes in a probe that was judged, graded and tagged.
func (b *probeBook) add(t *turn.Turn) (news probeNews) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.graded[t.Answer]++; t.Answer == "" {
		return news
	}
	b.count(t)
	news.demoted = b.audit(&t.Verdict, t.Answer == turn.Wrong)
	if all := b.all(); !b.proved && (stats.Prior{}).LogEAbove(all.K, all.N, usualWrong) >= math.Log(20) {
		b.proved, news.proved = true, &all
	}
	return news
}

// all is what the cells add up to.
func (b *probeBook) all() (all stats.Arm) {
	for _, n := range b.cells {
		all.K, all.N = all.K+n.K, all.N+n.N
	}
	return all
}

// count puts the probe into its cell.
func (b *probeBook) count(t *turn.Turn) {
	batch, _ := t.OwnTag("batch")
	c := probeCell{probeRange(batch.Value), t.Fingerprint}
	if b.cells[c] == nil && len(b.cells) >= maxProbeCells {
		c = probeCell{"other", "other"}
	}
	if b.cells[c] == nil {
		b.cells[c] = new(stats.Arm)
	}
	if b.cells[c].N++; t.Answer == turn.Wrong {
		b.cells[c].K++
	}
}

// mostFalse is the share of right answers of which a kind may be a finding: one
// that is of more, beyond doubt, is made a signal.
const mostFalse = 1e-4

// audit takes in what was told of an answer, and returns the kinds that are
// demoted for it.
func (b *probeBook) audit(v *validate.Verdict, wrong bool) (demoted []validate.Kind) {
	found, told := map[validate.Kind]bool{}, map[validate.Kind]bool{}
	for i := range v.Findings {
		found[v.Findings[i].Kind], told[v.Findings[i].Kind] = true, true
	}
	for i := range v.Signals {
		told[v.Signals[i].Kind] = true
	}
	for k := range told {
		a := b.kinds[k]
		if a == nil {
			a = new(probeAudit)
			b.kinds[k] = a
		}
		a.add(wrong, found[k])
		if low, _ := (stats.Prior{}).Sequence(a.convicted, b.graded[turn.Right], 0.95); low > mostFalse && !b.demoted[k] {
			b.demoted[k] = true
			demoted = append(demoted, k)
		}
	}
	return demoted
}

func (a *probeAudit) add(wrong, found bool) {
	switch {
	case wrong:
		a.wrong++
	case found:
		a.convicted++
		a.right++
	default:
		a.right++
	}
}

// demote makes signals of the findings of kinds that were demoted.
func (p *prober) demote(v *validate.Verdict) {
	if p == nil || len(v.Findings) == 0 {
		return
	}
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	if len(p.book.demoted) > 0 {
		v.Demote(func(k validate.Kind) bool { return p.book.demoted[k] })
	}
}

// ProbeMetrics returns what probes showed: how many answers are wrong, by batch
// and configuration, how much that says, and how much of it the judge saw.
func (s *Server) ProbeMetrics() []Metric {
	if s.probes == nil || !s.probes.ever.Load() {
		return nil
	}
	b := &s.probes.book
	b.mu.Lock()
	defer b.mu.Unlock()
	return append(b.rates(), b.audits()...)
}

// usualWrong is the share of wrong answers that the evidence is against.
const usualWrong = 0.001

func (b *probeBook) rates() []Metric {
	sent, wrong := Metric{Name: "turnwatch_probe_turns_total"}, Metric{Name: "turnwatch_probe_wrong_share"}
	evidence := Metric{Name: "turnwatch_probe_log10_e"}
	for _, a := range []turn.Answer{turn.Right, turn.Wrong, ""} {
		sent.add(float64(b.graded[a]), "answer", cmp.Or(string(a), "unknown"))
	}
	for c, n := range b.cells {
		low, high := stats.Prior{}.Sequence(n.K, n.N, 0.95)
		for bound, v := range map[string]float64{"seen": n.Rate(), "low": low, "high": high} {
			wrong.add(v, "turnwatch_batch_range", c.batch, "sglang_config_fingerprint", c.fingerprint, "bound", bound)
		}
	}
	all := b.all()
	evidence.add(stats.Prior{}.LogEAbove(all.K, all.N, usualWrong) / math.Ln10)
	skipped := Metric{Name: "turnwatch_probe_skipped_total"}
	skipped.each(b.skipped.counts(probeAlone, probeBusy), "reason")
	return []Metric{sent, wrong, evidence, skipped}
}

func (b *probeBook) audits() []Metric {
	recall, alarms := Metric{Name: "turnwatch_probe_recall"}, Metric{Name: "turnwatch_probe_false_alarms"}
	demoted := Metric{Name: "turnwatch_probe_demoted"}
	for _, k := range slices.Sorted(maps.Keys(b.kinds)) {
		a := b.kinds[k]
		audit(&recall, k, a.wrong, b.graded[turn.Wrong])
		audit(&alarms, k, a.right, b.graded[turn.Right])
		demoted.add(one(b.demoted[k]), "turnwatch_finding_kind", string(k))
	}
	return []Metric{recall, alarms, demoted}
}

// audit adds of what share of n answers a kind was told, with its interval.
func audit(m *Metric, kind validate.Kind, k, n int) {
	if n == 0 {
		return
	}
	low, high := stats.Prior{}.Sequence(k, n, 0.95)
	for bound, v := range map[string]float64{"seen": float64(k) / float64(n), "low": low, "high": high} {
		m.add(v, "turnwatch_finding_kind", string(kind), "bound", bound)
	}
}
