package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// The reasons for which a request is not sent to an arm, or given up by us.
const (
	dropQueue    = "queue"        // too many wait for the arm
	dropMemory   = "memory"       // its copy finds no room, or too many pairs are still to come
	dropRate     = "rate"         // too many begin in a second
	dropBudget   = "budget"       // the arm's answers of this minute are used up
	dropBackoff  = "backoff"      // the arm spoiled the latest ones
	dropMaxBatch = "max_batch"    // the live server is loaded
	dropEffects  = "side_effects" // it does more on the server than make an answer
	dropClient   = "client_gone"  // the client left, and its shadows were to leave with it
	dropShutdown = "shutdown"
	dropLive     = "live_lost" // there is no live turn to be paired with
)

// shadowDrops lists them.
func shadowDrops() []string {
	return []string{dropQueue, dropMemory, dropRate, dropBudget, dropBackoff, dropMaxBatch, dropEffects, dropClient, dropShutdown, dropLive}
}

// mirror is a request that other arms get, too, until its pair is made.
type mirror struct {
	sh     *shadow
	ctx    context.Context // done when the arms are to give it up
	cancel context.CancelFunc
	path   string
	asked  *asked
	hop    hop
	body   []byte
	held   int64        // of the budget
	users  atomic.Int32 // who may still read the body
	effect func() bool  // whether it does more than make an answer, found out once
	sum    func() string
	trace  turn.Trace // of the live turn

	mu     sync.Mutex
	left   int // parts that are still to come
	parts  []part
	bodies []string // digests of the bodies that were sent
	pair   turn.Pair
}

// part is what became of the request in one arm, the live one first.
type part struct {
	side    turn.Side
	there   bool
	word    validate.Outcome // the verdict, as a pair takes it
	turn    *observer        // to be recorded with the pair; nil: it was, or there is none
	outline *validate.Outline
}

// mirror begins one. The caller holds it until done.
func (sh *shadow) mirror(o *observer) *mirror {
	m := &mirror{sh: sh, path: o.path, asked: o.asked, trace: o.t.Trace, left: 1 + len(sh.arms), parts: make([]part, 1+len(sh.arms)), bodies: make([]string, 1+len(sh.arms)),
		pair: turn.Pair{V: turn.Version, ID: o.t.ID, Time: o.t.Time, Model: o.t.Model, Path: o.t.Path, Stream: o.t.Stream, Ratio: min(1, sh.now().Ratio)}}
	m.ctx, m.cancel = context.WithCancel(sh.ctx)
	m.hop = hopOf(m.asked.block, &fields{named: m.asked.fields.named})
	m.effect = sync.OnceValue(func() bool { return !sh.now().Effects && validate.HasEffects(m.path, m.body) })
	m.sum = sync.OnceValue(func() string { return m.digest(0, m.body) })
	m.users.Add(1)
	return m
}

// digest notes what was sent to an arm.
func (m *mirror) digest(i int, body []byte) string {
	sum := sha256.Sum256(body)
	text := hex.EncodeToString(sum[:8])
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bodies[i] = text
	return text
}

// hold copies the body, if there is room.
func (m *mirror) hold(body []byte) bool {
	n := int64(len(body) + len(m.asked.block))
	if !m.sh.budget.take(n) {
		return false
	}
	m.held = n
	m.body = append(make([]byte, 0, len(body)), body...)
	return true
}

// done ends the use of the body by one who held it.
func (m *mirror) done() {
	if m.users.Add(-1) == 0 {
		m.body = nil
		m.sh.budget.used.Add(-m.held)
	}
}

// given gives the mirror up for a client that has left, if that was asked for.
func (m *mirror) given(how validate.Ending) {
	if m != nil && how == validate.ClientGone && m.sh.now().CutWithClient {
		m.cancel()
	}
}

// recorded takes in the live turn.
func (m *mirror) recorded(o *observer) {
	if m != nil {
		p := partOf(o, turn.Paired, "")
		p.turn = nil
		m.mu.Lock()
		m.pair.Session, m.pair.Number = o.t.Session, o.t.Number
		m.mu.Unlock()
		m.settle(0, p)
	}
}

// lost pairs the mirror with a live turn that will not be recorded.
func (m *mirror) lost() {
	if m != nil {
		m.settle(0, part{side: turn.Side{State: turn.Dropped, Why: dropLive}})
	}
}

// settle takes in what became of the request in an arm, once. The last one makes the
// pair.
func (m *mirror) settle(i int, p part) {
	m.mu.Lock()
	had := m.parts[i].there
	if !had {
		p.there = true
		m.parts[i] = p
		m.left--
	}
	last := !had && m.left == 0
	m.mu.Unlock()
	if !had && i > 0 && p.side.State != turn.Paired {
		m.sh.arms[i-1].count(&p.side)
	}
	if last {
		m.finish()
	}
}

// finish makes the pair, records the arms' turns and tells of it. It runs where the
// last part comes from, which a panic must not harm.
func (m *mirror) finish() {
	defer func() {
		m.sh.leave(m)
		m.cancel()
		if p := recover(); p != nil {
			m.sh.log.Error("a pair of answers is lost", "turn_id", m.pair.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	live := &m.parts[0]
	live.side.Arm = turn.Live
	for i, a := range m.sh.arms {
		p := &m.parts[i+1]
		p.side.Arm = a.Arm
		if p.side.State == turn.Paired {
			p.match(&live.side)
			a.count(&p.side)
		}
	}
	for i := range m.parts {
		p := &m.parts[i]
		if o := p.turn; o != nil {
			o.t.Session, o.t.Number = m.pair.Session, m.pair.Number
			m.sh.s.finish.record(o)
		}
		if p.side.Finish == nil {
			p.side.Finish = []string{}
		}
		p.side.Body = m.bodies[i]
		m.pair.Sides = append(m.pair.Sides, p.side)
	}
	m.twins()
	m.sh.tell(&m.pair)
}

// match makes an answer that the live one cannot be held against no pair: there is no
// live turn, or only the arm answered with an error.
func (p *part) match(live *turn.Side) {
	switch {
	case live.State != turn.Paired:
		p.side.State, p.side.Why = turn.Dropped, dropLive
	case p.side.Status >= 400 && live.Status < 400:
		p.side.State, p.side.Why = turn.Failed, failStatus
	}
}

// twins compares each two answers.
func (m *mirror) twins() {
	m.pair.Pairs = []turn.Twin{}
	for j := range m.parts {
		for i := range j {
			if a, b := &m.parts[i], &m.parts[j]; a.side.State == turn.Paired && b.side.State == turn.Paired {
				m.pair.Pairs = append(m.pair.Pairs, twin(a, b))
			}
		}
	}
}

func twin(a, b *part) turn.Twin {
	x, y := &a.side, &b.side
	t := turn.Twin{A: x.Arm, B: y.Arm, Outcome: turn.Unjudged, Suspects: turn.Unjudged, Finish: slices.Equal(x.Finish, y.Finish),
		Prompt: x.Prompt == y.Prompt || x.Prompt == 0 || y.Prompt == 0}
	if judged(a) && judged(b) {
		t.Outcome = outcome(a.word == validate.Corrupted, b.word == validate.Corrupted, x.Arm, y.Arm)
		t.Suspects = outcome(x.Suspect, y.Suspect, x.Arm, y.Arm)
	}
	if a.outline != nil && b.outline != nil {
		l := a.outline.Like(b.outline)
		t.Names, t.Args, t.FirstDiff = l.Names, l.Args, l.FirstDiff
	}
	return t
}

func judged(p *part) bool { return p.word == validate.Clean || p.word == validate.Corrupted }

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

// partOf makes a part of a turn that has its verdict and its tags.
func partOf(o *observer, state turn.State, why string) part {
	t := &o.t
	s := turn.Side{State: state, Why: why, ID: t.ID, Status: t.Status, Ending: t.Ending, Outcome: t.Outcome, Suspect: t.Suspect,
		Finish: t.FinishReasons, Calls: t.Calls, TTFBMS: t.TTFBMS, Print: t.Fingerprint}
	if u := t.Usage; u != nil {
		s.Prompt, s.Tokens = u.PromptTokens, u.CompletionTokens
		if s.Tokens > 1 {
			s.TokenMS = (t.DurationMS - t.TTFBMS) / float64(s.Tokens-1)
		}
	}
	batch, _ := t.OwnTag("batch")
	s.Batch, _ = strconv.Atoi(batch.Value)
	return part{side: s, word: taken(&t.Verdict), turn: o, outline: o.outline}
}

// taken is a verdict as a pair takes it: one that stands on a parser's known faults
// alone says nothing of the server.
func taken(v *validate.Verdict) validate.Outcome {
	if v.Outcome != validate.Corrupted {
		return v.Outcome
	}
	for i := range v.Findings {
		if v.Findings[i].Cause != validate.CauseParser {
			return validate.Corrupted
		}
	}
	return validate.Unverified
}
