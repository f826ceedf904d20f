package proxy_test

import (
	"strings"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/pairs"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate/stats"
)

// broken strikes a share of turns, visibly; batched, it does so in batches above six
// alone.
func broken(seed uint64, share float64, batched bool) []sglangtest.Fault {
	rate := sglangtest.Rate(seed, "broken", share)
	return []sglangtest.Fault{{Name: "broken", Do: sglangtest.BadJSON, When: func(s sglangtest.State) bool {
		return rate(s) && (!batched || s.Batch > 6)
	}}}
}

// run is a live run of a candidate, with or without a control.
type run struct {
	live, control, candidate []sglangtest.Fault
	alone                    bool // there is no control
	ratio                    float64
	step                     time.Duration
	sessions, together       int
	margin                   float64
	batches                  float64 // limit of batches; where they do not matter, a busy machine sets them as it likes
}

// word plays the run through sockets.
func (r run) word(t *testing.T) pairs.Report {
	t.Helper()
	server := func(faults []sglangtest.Fault, dtype string) *sglangtest.Server {
		return simulator(t, sglangtest.Config{Plugin: true, Step: r.step, IndexDtype: dtype, Faults: faults})
	}
	live, candidate := server(r.live, "bf16"), server(r.candidate, "fp8")
	arms := []proxy.ShadowArm{tagged(t, turn.Candidate, candidate.URL)}
	if !r.alone {
		arms = append(arms, tagged(t, turn.Control, server(r.control, "bf16").URL))
	}
	m := mirrors(t, live.URL, proxy.Config{Tags: tagsOf(t, live.URL), Shadow: proxy.ShadowConfig{Arms: arms, Ratio: r.ratio,
		Book: pairs.NewBook(pairs.Limits{Margin: r.margin, Batch: r.batches})}})
	m.play(7000, r.sessions, r.together)
	m.await(int(m.arm(turn.Candidate).offered))
	m.balanced(turn.Candidate, len(m.pairs))
	report := m.book.Report()
	t.Logf("%d pairs: %s: %s", len(m.pairs), report.Word, report.Text)
	return report
}

// TestShadowComesToTheRightWord in live runs with two and three simulators.
func TestShadowComesToTheRightWord(t *testing.T) {
	f := func(name string, r run, want stats.Word, reason string) {
		t.Run(name, func(t *testing.T) {
			got := r.word(t)
			if got.Word != want || !strings.Contains(got.Text, reason) {
				t.Errorf("got %s: %s, want %s: %s", got.Word, got.Text, want, reason)
			}
			if got.Promote != (want == stats.Better || want == stats.Same) || got.Rollback != (want == stats.Worse) {
				t.Errorf("promote %t, roll back %t at %s", got.Promote, got.Rollback, want)
			}
		})
	}
	f("the candidate has the fault", run{batches: 100, candidate: broken(1, 0.15, false), sessions: 50, together: 4}, stats.Worse, "worse")
	f("the candidate mends it", run{batches: 100, live: broken(1, 0.15, false), control: broken(2, 0.15, false), sessions: 50, together: 4}, stats.Better, "better")
	f("equal arms", run{batches: 100, sessions: 60, together: 4, margin: 0.05}, stats.Same, "no difference larger than 5 points")
	f("no control", run{alone: true, live: broken(1, 0.15, false), sessions: 30, together: 4}, stats.NotComparable, "run a control")
	idle := run{live: broken(1, 0.5, true), control: broken(2, 0.5, true), candidate: broken(3, 0.5, true), ratio: 0.1,
		step: 2 * time.Millisecond, sessions: 160, together: 14}
	f("an idle candidate that has the fault", idle, stats.NotComparable, "another batch")
}

// TestIdleCandidateWithoutControlIsNotBetter, and it is said at which share it would run
// in the live server's batch.
func TestIdleCandidateWithoutControlIsNotBetter(t *testing.T) {
	got := run{alone: true, live: broken(1, 0.5, true), candidate: broken(3, 0.5, true), ratio: 0.1,
		step: time.Millisecond, sessions: 60, together: 10}.word(t)
	if got.Word != stats.NotComparable || !strings.Contains(got.Text, "at -shadow-ratio ") {
		t.Errorf("got %s: %s, want %s with the ratio", got.Word, got.Text, stats.NotComparable)
	}
}
