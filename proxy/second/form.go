package second

import (
	"context"
	"errors"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate/opinion"
)

// How an opinion came about, and who was asked.
const (
	byScores  = "scores"
	byReplays = "replays"
	byNone    = "none"

	serverLive  = "live"
	serverOther = "other"

	cacheNone     = "none"
	cacheOther    = "other"
	cachePossible = "possible"
)

// The reasons for an unknown opinion that lie in asking; those that lie in what was answered
// are package opinion's.
const (
	NotKept     opinion.Reason = "not_kept"    // what was said was not kept: -judge-memory, or larger than 8 MiB
	NoIDs       opinion.Reason = "no_ids"      // the server tells no ids, and the turn cannot be replayed
	NotGreedy   opinion.Reason = "not_greedy"  // … and its request has another temperature than 0
	Unreadable  opinion.Reason = "unreadable"  // the request cannot be read
	Choices     opinion.Reason = "choices"     // it asked for several answers
	OtherInput  opinion.Reason = "other_input" // images or an adapter, which ids do not tell
	Busy        opinion.Reason = "busy"        // the server had no room in all the time, or the relay
	Timeout     opinion.Reason = "timeout"     // no answer in time
	Unreachable opinion.Reason = "unreachable" // no answer
	Refused     opinion.Reason = "refused"     // a status that is no success
	TooLarge    opinion.Reason = "too_large"   // the answer is larger than is read
	Disagree    opinion.Reason = "disagree"    // replays do not agree with each other
	Elsewhere   opinion.Reason = "elsewhere"   // they agree, and differ from the turn at another place than the flagged one
	Unjudged    opinion.Reason = "unjudged"    // one of the answers could not be read
)

// Reasons returns all reasons of unknown opinions.
func Reasons() []opinion.Reason {
	return []opinion.Reason{opinion.Between, opinion.NoAlternative, opinion.Tokenisation, opinion.Constrained, opinion.Moved, opinion.NoTokens, opinion.Mismatch, opinion.Lies,
		NotKept, NoIDs, NotGreedy, Unreadable, Choices, OtherInput, Busy, Timeout, Unreachable, Refused, TooLarge, Disagree, Elsewhere, Unjudged}
}

// form forms the opinion on a turn.
func (a *Asker) form(j *job) {
	begin := time.Now()
	j.o.Server = serverOther
	if a.cfg.Live {
		j.o.Server = serverLive
	}
	s, why := j.sampling()
	switch {
	case why != "":
		j.unknown(why)
	case j.tokens != nil:
		a.score(j, s)
	default:
		a.replay(j, s)
	}
	j.o.TookMS = float64(time.Since(begin)) / float64(time.Millisecond)
}

// sampling reads how the turn's tokens were drawn, or why that is not known.
func (j *job) sampling() (opinion.Sampling, opinion.Reason) {
	if j.request == nil {
		return opinion.Sampling{}, NotKept
	}
	s, err := opinion.ReadSampling(j.path, j.request)
	switch {
	case err != nil:
		return s, Unreadable
	case s.Choices != 1:
		return s, Choices
	case s.Other != "":
		return s, OtherInput
	}
	return s, ""
}

func (j *job) unknown(why opinion.Reason) {
	j.o.Word, j.o.Reason = string(opinion.Unknown), string(why)
}

func (j *job) word(w opinion.Word) { j.o.Word, j.o.Reason = string(w), "" }

// failed is the reason that an error is.
func failed(err error) opinion.Reason {
	var status *statusError
	switch {
	case errors.Is(err, errTooLarge):
		return TooLarge
	case errors.Is(err, context.DeadlineExceeded) || timedOut(err):
		return Timeout
	case errors.As(err, &status):
		return Refused
	}
	return Unreachable
}

// place says where a token of the output, from 0, is to the first flagged one.
func place(t *turn.Tokens, onset int) turn.Place {
	n := int64(onset) + 1
	switch {
	case onset < 0 || t.Last == 0:
		return turn.PlaceUnknown
	case n < t.First:
		return turn.PlaceBefore
	case n > t.Last:
		return turn.PlaceAfter
	}
	return turn.PlaceAt
}
