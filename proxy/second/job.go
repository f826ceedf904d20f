package second

import (
	"bytes"
	"slices"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// job is a turn that waits for its opinion, with what it takes to form one.
type job struct {
	o           turn.Opinion
	path        string
	constrained bool
	tokens      *turn.Tokens // nil: none
	request     []byte       // nil: it was not kept
	answer      said
	flags       []flag
	size        int64 // of what is held
	total       int   // tokens of the turn, as it reports them
	replays     int   // how often it may be replayed
}

// said is an answer, with what it is read by.
type said struct {
	head validate.Head
	body []byte // nil: it was not kept
}

// flag is a place in the arguments of a call that a finding or a signal is about.
type flag struct {
	choice, call int
	at           int64 // byte of the arguments; -1 where that is not known
}

// newJob copies what is needed of a turn.
func newJob(t *turn.Turn, of turn.Sample, replays int) *job {
	j := &job{path: t.Path, constrained: t.Constrained, replays: replays, flags: flags(t),
		o: turn.Opinion{V: turn.Version, ID: t.ID, Model: t.Model, Session: t.Session, Number: t.Number, Outcome: t.Outcome, Suspect: t.Suspect, Of: of,
			By: byNone, Onset: -1, Place: turn.PlaceUnknown, Start: -1, Cached: -1, Cache: cacheNone}}
	if u := t.Usage; u != nil {
		j.total = int(u.PromptTokens + u.CompletionTokens)
	}
	if k := t.Tokens; k != nil && !k.Cut {
		j.tokens = &turn.Tokens{Input: slices.Clone(k.Input), Output: slices.Clone(k.Output), First: k.First, Last: k.Last}
		j.size += 4 * int64(len(k.Input)+len(k.Output))
	}
	if c := t.Capture; c != nil && c.Request.Lost == "" {
		j.request = bytes.Clone(c.Request.Body)
		if j.tokens == nil && replays > 0 && c.Answer.Lost == "" {
			j.answer = said{head: validate.Head{Status: t.Status, ContentType: contentType(c.Answer.Head)}, body: bytes.Clone(c.Answer.Body)}
		}
	}
	j.size += int64(len(j.request) + len(j.answer.body))
	return j
}

// weight is how many tokens it takes to ask.
func (j *job) weight() int {
	if j.tokens != nil {
		return len(j.tokens.Input) + len(j.tokens.Output)
	}
	return j.total * max(j.replays, 1)
}

// flags are the places that the turn is flagged for.
func flags(t *turn.Turn) (all []flag) {
	for i := range t.Findings {
		if f := &t.Findings[i]; f.Call != nil && f.ArgOffset != nil {
			all = append(all, flag{f.Choice, *f.Call, *f.ArgOffset})
		}
	}
	for i := range t.Signals {
		if s := &t.Signals[i]; s.Call != nil {
			all = append(all, flag{s.Choice, *s.Call, -1})
		}
	}
	return all
}

// contentType finds the field in the head of an answer.
func contentType(head []byte) string {
	for line := range bytes.Lines(head) {
		name, value, ok := bytes.Cut(line, []byte{':'})
		if ok && bytes.EqualFold(name, []byte("content-type")) {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}
