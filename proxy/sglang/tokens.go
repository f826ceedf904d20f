package sglang

import (
	"encoding/json"
	"math"

	"turnwatch/proxy/turn"
)

// maxID is above any id of a token.
const maxID = math.MaxInt32

// tokens gives the turn the ids of its tokens, where they are wanted and told.
func (x *filling) tokens() {
	if !x.g.cfg.Tokens || x.f == nil {
		return
	}
	t := &turn.Tokens{Cut: x.f.InputIDsOf > 0 || x.f.OutputIDsOf > 0}
	if !ids(x.f.InputIDs, &t.Input) || !ids(x.f.OutputIDs, &t.Output) {
		return
	}
	t.Cut = t.Cut || len(t.Input) != x.f.PromptTokens || len(t.Output) != x.f.CompletionTokens
	if o, ok := x.flagged(); ok {
		t.First, t.Last = o.span(int64(len(t.Output)))
	}
	x.t.Tokens = t
}

// ids reads a list of them; false for none, or for one that cannot be.
func ids(raw json.RawMessage, to *[]int32) bool {
	if json.Unmarshal(raw, to) != nil || len(*to) == 0 {
		return false
	}
	for _, id := range *to {
		if id < 0 || id >= maxID {
			return false
		}
	}
	return true
}

// flagged finds the first byte that a finding or a signal is about.
func (x *filling) flagged() (onset, bool) {
	o, least, ok := x.found()
	for i := range x.t.Signals {
		if s := &x.t.Signals[i]; s.Offset < least {
			least, ok = s.Offset, true
			o = x.within(onset{delta: s.Delta, tokens: s.Tokens, at: millis(s.AtMS)})
		}
	}
	return o, ok && (o.delta > 0 || o.tokens > 0)
}
