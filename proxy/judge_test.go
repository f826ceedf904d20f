package proxy

import (
	"log/slog"
	"testing"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// recordOne keeps the last turn it is given.
type recordOne struct{ t turn.Turn }

func (r *recordOne) Finish(t *turn.Turn) { r.t = *t }

// counted are tags that count the bytes of the body.
type counted struct {
	TurnTags
	bytes int
}

func (c *counted) Data(p []byte, _ time.Time) { c.bytes += len(p) }

// broken is an observer of a turn whose judge will panic: it has ended already.
func broken(s *Server) *observer {
	check := validate.NewChecker(&validate.Request{}, validate.Head{Status: 200})
	check.Finish(validate.Complete)
	return &observer{s: s, t: turn.Turn{ID: "t", Status: 200}, h: validate.Head{Status: 200}, check: check}
}

// TestJudgeThatPanicsMakesTheTurnUnverified, wherever it does.
func TestJudgeThatPanicsMakesTheTurnUnverified(t *testing.T) {
	s := &Server{log: slog.New(slog.DiscardHandler), sessions: newSessions(SessionConfig{})}
	s.budget = newBudget(1<<20, &s.stats.JudgeMemory)
	seen := &recordOne{}
	f := &finisher{s: s, sinks: []Sink{seen}}
	f.judge(broken(s))
	if seen.t.Outcome != validate.Unverified || seen.t.Reason != validate.ReasonCheckerPanic {
		t.Errorf("at the end: got %s, %s, want unverified, checker_panic", seen.t.Outcome, seen.t.Reason)
	}
	if got := s.stats.dropped.counts()[string(turn.DropCheckerPanic)]; got != 1 {
		t.Errorf("counted: got %d, want 1", got)
	}
	o := broken(s)
	o.req, o.check = nil, &validate.Checker{}
	o.tags = &counted{}
	o.data(0, &framing{kind: chunkedBody}, []byte("1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"))
	if o.reason != validate.ReasonCheckerPanic {
		t.Errorf("while it streams: got reason %q, want checker_panic", o.reason)
	}
	if got := o.tags.(*counted).bytes; got != 2 || o.t.BytesOut != 2 {
		t.Errorf("for the tags: got %d bytes of %d, want 2 of 2", got, o.t.BytesOut)
	}
}
