package stress

import (
	"fmt"
	"iter"
	"strings"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
	"turnwatch/validate/stats"
)

// Tally is what a journal says of a load.
type Tally struct {
	Sessions  Rate
	Turns     Rate
	Corrupted []*turn.Turn             // in the journal's order
	Outcomes  map[validate.Outcome]int // turns by verdict
}

// Rate is a count of corrupted things out of all.
type Rate struct{ Corrupted, All int }

// Line writes the rate as everything here does:
//
//	CORRUPTION sessions: 6/40 = 15.0%  [7.1%, 29.1%]
func (r Rate) Line(of string) string {
	lo, hi := stats.Wilson(r.Corrupted, r.All)
	return fmt.Sprintf("CORRUPTION %s: %d/%d = %.1f%%  [%.1f%%, %.1f%%]", of, r.Corrupted, r.All,
		100*float64(r.Corrupted)/float64(max(1, r.All)), 100*lo, 100*hi)
}

// Count counts turns. A session is corrupted when one of its turns is; one of
// which nothing was judged is not counted.
func Count(turns iter.Seq2[*turn.Turn, error]) (Tally, error) {
	t := Tally{Outcomes: map[validate.Outcome]int{}}
	bad := map[string]bool{}
	for u, err := range turns {
		if err != nil {
			return t, err
		}
		t.Outcomes[u.Outcome]++
		if u.Outcome == validate.Unverified {
			continue
		}
		t.Turns.All++
		corrupted := u.Outcome == validate.Corrupted
		if corrupted {
			t.Turns.Corrupted++
			t.Corrupted = append(t.Corrupted, u)
		}
		bad[session(u)] = bad[session(u)] || corrupted
	}
	t.Sessions.All = len(bad)
	for _, b := range bad {
		if b {
			t.Sessions.Corrupted++
		}
	}
	return t, nil
}

// session returns the session of a turn: as the journal has it, else what
// stands before the last - of the request's id.
func session(u *turn.Turn) string {
	if u.Session != "" {
		return u.Session
	}
	if i := strings.LastIndexByte(u.RequestID, '-'); i >= 0 {
		return u.RequestID[:i]
	}
	return u.ID
}
