package pairs

import (
	"hash/fnv"

	"turnwatch/proxy/turn"
	"turnwatch/validate/stats"
)

// maxVoters bounds the sessions that are remembered because they have voted. A
// comparison with as many has long been decided.
const maxVoters = 1 << 16

// tally counts pairs by which of two answers is bad. The first side is the one that
// words are about.
type tally struct {
	stats.Decision
	Both, Clean, Unjudged int

	voters map[uint64]struct{}
}

// add counts a pair.
func (t *tally) add(o turn.Outcome, first, second turn.Arm, session string) {
	switch o {
	case turn.BothClean:
		t.Clean++
	case turn.Both:
		t.Both++
	case turn.Only(first):
		t.B++
		t.VoteB += t.vote(session)
	case turn.Only(second):
		t.C++
		t.VoteC += t.vote(session)
	default:
		t.Unjudged++
		return
	}
	t.N++
}

// vote returns 1 if the session has not voted yet. Turns whose session is not known
// have one each.
func (t *tally) vote(session string) int {
	if session == "" {
		return 1
	}
	h := fnv.New64a()
	h.Write([]byte(session))
	key := h.Sum64()
	if _, ok := t.voters[key]; ok || len(t.voters) >= maxVoters {
		return 0
	}
	if t.voters == nil {
		t.voters = map[uint64]struct{}{}
	}
	t.voters[key] = struct{}{}
	return 1
}

// mean is the mean of what is known.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) {
	if v > 0 {
		m.sum += v
		m.n++
	}
}

func (m mean) value() float64 { return m.sum / float64(max(1, m.n)) }
