package sglangtest

import (
	"net/http"
	"strings"
)

// mostIDs bounds the token ids of an answer that are remembered, and how far the
// model looks ahead.
const mostIDs = 1 << 16

// roomForIDs bounds the token ids that are remembered, of all turns together.
const roomForIDs = 8 << 20

// tokens has a turn counted in tokens of the vocabulary and remembered by them.
func (s *Server) tokens(rec *Record, r *Request, a *Answer) {
	if !s.cfg.KeepTokens {
		return
	}
	a.tokens, rec.kept = true, true
	rec.InputIDs, rec.MeantIDs = r.inputIDs(), a.outputIDs(mostIDs)
	rec.PromptTokens = len(rec.InputIDs)
}

// keep remembers the token that q is about to emit. mu is held.
func (e *engine) keep(q *seq) {
	r := q.rest
	if !r.tokens {
		return
	}
	id := r.silentID(q.spent - 1)
	if len(r.Deltas) > 0 {
		id = r.Deltas[0].outputIDs()[q.spent-1]
	}
	if len(q.rec.OutputIDs) < mostIDs {
		q.rec.OutputIDs = append(q.rec.OutputIDs, id)
	}
}

// forget drops the ids of the oldest turns when there are too many. mu is held.
func (e *engine) forget(rec *Record) {
	e.ids += len(rec.InputIDs) + 2*len(rec.MeantIDs)
	for _, r := range e.records {
		if e.ids <= roomForIDs {
			return
		}
		e.ids -= len(r.InputIDs) + 2*len(r.MeantIDs)
		r.InputIDs, r.OutputIDs, r.MeantIDs = nil, nil, nil
	}
}

// cached returns how many of the first most tokens of ids the prefix cache has,
// which holds the newest turns. mu is held.
func (e *engine) cached(ids []int32, most int) int {
	best := 0
	const newest = 256
	for _, r := range e.records[max(0, len(e.records)-newest):] {
		n := common(ids, r.InputIDs)
		if n == len(r.InputIDs) {
			n += common(ids[n:], r.OutputIDs)
		}
		best = max(best, n)
	}
	return max(0, min(best, most, len(ids)-1))
}

func common(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// owns reports whether a request shows a key of the server, which token ids
// are told for.
func (s *Server) owns(req *http.Request) bool {
	key, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	return ok && key != "" && (key == s.cfg.APIKey || key == s.cfg.AdminAPIKey)
}
