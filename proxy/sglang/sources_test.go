package sglang

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// condition is what a source is like.
type condition string

const (
	absent  condition = "absent"
	good    condition = "good"
	stale   condition = "stale"
	lying   condition = "lying"
	slow    condition = "slow"
	failing condition = "failing"
)

// The batch that each source tells when it is good.
const (
	headerSays, factsSay, logSays, pollSays = "5", "31", "17", "9"
)

// sources is one row of the table: what each source is like, and the lie that
// those tell which lie.
type sources struct {
	header, facts, log, poll condition
	lie                      string
}

func (s sources) head() string {
	head := "HTTP/1.1 200 OK\r\nx-sglang-rid: r1\r\n"
	switch s.header {
	case good:
		head += "x-sglang-batch-size: " + headerSays + "\r\n"
	case lying:
		head += "x-sglang-batch-size: " + s.lie + "\r\n"
	}
	if s.facts != absent {
		head += "x-sglang-turn-facts: /turns\r\n"
	}
	return head + "\r\n"
}

// server answers as the row says. A poll that is stale answers once.
func (s sources) server() server {
	facts := func(batch string) string {
		return `{"rid":"r1","completion_tokens":5,"decode_runs":[{"first_step":1,"last_step":4,"batch":` + batch + `,"bucket":32}]}`
	}
	loads := func(batch string) string {
		return `{"loads":[{"num_running_reqs":` + batch + `,"num_waiting_reqs":0}]}`
	}
	as := func(c condition, body func(string) string, says string) func() (string, error) {
		n := 0
		return func() (string, error) {
			n++
			switch {
			case c == slow || c == stale && n > 1:
				return "", errHang
			case c == failing:
				return "", errors.New("broken")
			case c == lying:
				return body(s.lie), nil
			}
			return body(says), nil
		}
	}
	srv := server{"/server_info": always(anyServer), "/model_info": always(anyModel)}
	if s.facts != absent {
		srv["/turns/r1"] = as(s.facts, facts, factsSay)
	}
	if s.poll != absent {
		srv["/v1/loads"] = as(s.poll, loads, pollSays)
	}
	return srv
}

// expect is the tag that the best of the sources makes.
func expect(own turn.Tag, all ...any) turn.Tag {
	for i := 0; i < len(all); i += 2 {
		if all[i].(condition) == good {
			return all[i+1].(turn.Tag)
		}
	}
	return own
}

func (s sources) check(t *testing.T, u *turn.Turn, atHead time.Duration) {
	t.Helper()
	tag := func(v, src string, age time.Duration) turn.Tag {
		return turn.Tag{Value: v, Source: src, AgeMS: age.Milliseconds()}
	}
	own := tag("1", fromOwn, 0)
	for name, want := range map[string]turn.Tag{
		"batch_at_head":  expect(own, s.header, tag(headerSays, fromHeader, 0), s.poll, tag(pollSays, fromPoll, atHead)),
		"batch":          expect(own, s.facts, tag(factsSay, fromFacts, 0), s.log, tag(logSays, fromLog, 0), s.poll, tag(pollSays, fromPoll, 0)),
		"batch_at_onset": expect(own, s.facts, tag(factsSay, fromFacts, 0), s.log, tag(logSays, fromLog, 0), s.poll, tag(pollSays, fromPoll, 500*time.Millisecond)),
		"own_batch_max":  own, "own_batch_at_onset": own,
	} {
		if got := u.Tags[name]; got != want {
			t.Errorf("%+v: %s: got %+v, want %+v", s, name, got, want)
		}
	}
}

// play plays one turn of 1.5 s whose first bad byte came after 1.2, and holds
// its tags and every moment it cost against the row.
func (s sources) play(t *testing.T, g *Tagger) {
	if s.poll == stale {
		answer(g, 0)
		time.Sleep(fresh + time.Second)
	}
	begin := time.Now()
	w := g.Begin()
	synctest.Wait()
	time.Sleep(300 * time.Millisecond)
	path := time.Now()
	w.Head([]byte(s.head()))
	head := time.Now()
	if s.log == stale {
		g.log.line([]byte(status(head.Add(-2*fresh), "r1", "x")))
	}
	time.Sleep(1200 * time.Millisecond)
	if s.log == good {
		rids := []string{"r1"}
		for i := range 16 {
			rids = append(rids, fmt.Sprint("x", i))
		}
		g.log.line([]byte(status(time.Now(), rids...)))
	}
	w.Data([]byte("x"), time.Now())
	time.Sleep(300 * time.Millisecond)
	w.End()
	if d := time.Since(path) - 1500*time.Millisecond; d != 0 {
		t.Errorf("%+v: the answer was delayed by %v", s, d)
	}
	one := &turn.Turn{Time: begin, TTFBMS: 300, DurationMS: 1800, Status: 200, Stream: true, Ending: validate.Complete,
		Verdict: validate.Verdict{Outcome: validate.Corrupted, Deltas: 4, Findings: []validate.Finding{{Kind: validate.SchemaType, Offset: 9, AtMS: 1200, Delta: 3}}}}
	end := time.Now()
	done := make(chan struct{})
	tag(w, one, func() { close(done) })
	<-done
	late := map[condition]time.Duration{slow: 2 * time.Second}[s.facts]
	if d := time.Since(end); d != late {
		t.Errorf("%+v: the record waited %v, want %v", s, d, late)
	}
	s.check(t, one, 300*time.Millisecond)
}

// TestEverySourceIsTakenForWhatItIs plays a turn for every combination of
// sources, each absent, good, stale, lying, slow or failing: tags come from the
// best of those that are good, with its name and age, and nothing waits.
func TestEverySourceIsTakenForWhatItIs(t *testing.T) {
	n := 0
	for _, header := range []condition{absent, good, lying} {
		for _, facts := range []condition{absent, good, lying, slow, failing} {
			for _, log := range []condition{absent, good, stale} {
				for _, poll := range []condition{absent, good, stale, lying, slow, failing} {
					for _, lie := range []string{"-3", "1099511627776", `"many"`} {
						s := sources{header, facts, log, poll, lie}
						if header != lying && facts != lying && poll != lying && lie != "-3" {
							continue
						}
						n++
						bubble(t, Config{}, s.server(), s.play)
						if t.Failed() {
							return
						}
					}
				}
			}
		}
	}
	t.Logf("%d combinations", n)
}
