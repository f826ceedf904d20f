package turn

import (
	"time"

	"turnwatch/validate"
)

// Pair is what became of one request of a client that was sent to other servers,
// too: an answer, or the reason why there is none, in each arm, and what the answers
// say of each other. Its line in a journal has the type shadow_pair and these fields,
// in this order:
//
//	v         version of the format, as a turn's
//	type      shadow_pair
//	id        of the live turn
//	time      when the request's head had arrived
//	model     as the request names it
//	path      of the request
//	stream    whether the request asked for a stream
//	session   the live turn's, and turn its place in it
//	ratio     the share of requests, or of sessions, that is mirrored
//	sides     one an arm, the live one first
//	  arm            live, control or candidate
//	  state          paired (there is an answer), dropped (it was not sent, or was given up by
//	                 us) or failed (the arm spoiled it); the live arm's is paired
//	  why            the reason of a side that is dropped or failed; "" for others
//	  id             of the arm's turn; "" when there is none, and so below
//	  status, ending, verdict, suspect, finish_reasons, calls   as in a turn
//	  prompt_tokens, completion_tokens                          0 when the server reported none
//	  ttfb_ms        to the answer's first byte
//	  token_ms       a token after that; 0 when not known
//	  batch          the largest over the turn's decode steps; 0 when not known
//	  fingerprint    of the arm's configuration
//	  body           first 16 hex digits of SHA-256 over the request's body as it was sent
//	pairs     one of each two arms that both answered, as far as there are three
//	  a, b           the arms
//	  outcome        both_clean, only_A, only_B, both (A and B stand for the arms), or
//	                 unjudged: one of them is neither clean nor corrupted
//	  suspects       the same of suspect turns
//	  finish         whether finish reasons are equal
//	  names, args    whether the calls' names are, and their arguments as canonical JSON
//	  first_diff     first character, from 0, in which the texts differ; -1 if they do not
//	  prompt         whether prompt_tokens are equal; true when one is not known
//
// A turn whose findings are all a parser's known faults is unjudged in a pair.
type Pair struct {
	V       int       `json:"v"`
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Model   string    `json:"model"`
	Path    string    `json:"path"`
	Stream  bool      `json:"stream"`
	Session string    `json:"session"`
	Number  int       `json:"turn"`
	Ratio   float64   `json:"ratio"`
	Sides   []Side    `json:"sides"`
	Pairs   []Twin    `json:"pairs"`
}

// Side is what became of the request in one arm.
type Side struct {
	Arm     Arm              `json:"arm"`
	State   State            `json:"state"`
	Why     string           `json:"why"`
	ID      string           `json:"id"`
	Status  int              `json:"status"`
	Ending  validate.Ending  `json:"ending"`
	Outcome validate.Outcome `json:"verdict"`
	Suspect bool             `json:"suspect"`
	Finish  []string         `json:"finish_reasons"`
	Calls   int              `json:"calls"`
	Prompt  int64            `json:"prompt_tokens"`
	Tokens  int64            `json:"completion_tokens"`
	TTFBMS  float64          `json:"ttfb_ms"`
	TokenMS float64          `json:"token_ms"`
	Batch   int              `json:"batch"`
	Print   string           `json:"fingerprint"`
	Body    string           `json:"body"`
}

// State says whether an arm has an answer.
type State string

// The states.
const (
	Paired  State = "paired"
	Dropped State = "dropped"
	Failed  State = "failed"
)

// Outcome says which of two answers are corrupted.
type Outcome string

// The outcomes that name no arm. Only makes the others.
const (
	BothClean Outcome = "both_clean"
	Both      Outcome = "both"
	Unjudged  Outcome = "unjudged"
)

// Only is the outcome of a pair of which one arm's answer is corrupted.
func Only(a Arm) Outcome { return Outcome("only_" + a) }

// Twin is what two answers to the request say of each other.
type Twin struct {
	A         Arm     `json:"a"`
	B         Arm     `json:"b"`
	Outcome   Outcome `json:"outcome"`
	Suspects  Outcome `json:"suspects"`
	Finish    bool    `json:"finish"`
	Names     bool    `json:"names"`
	Args      bool    `json:"args"`
	FirstDiff int     `json:"first_diff"`
	Prompt    bool    `json:"prompt"`
}

// Side returns what became of the request in an arm; nil if it was not for it.
func (p *Pair) Side(a Arm) *Side {
	for i := range p.Sides {
		if p.Sides[i].Arm == a {
			return &p.Sides[i]
		}
	}
	return nil
}

// Twin returns what the answers of two arms say of each other; nil if there are
// not both.
func (p *Pair) Twin(a, b Arm) *Twin {
	for i := range p.Pairs {
		if p.Pairs[i].A == a && p.Pairs[i].B == b {
			return &p.Pairs[i]
		}
	}
	return nil
}

// AppendJSON appends the journal line, without its newline, to b.
func (p *Pair) AppendJSON(b []byte) []byte {
	o := object{b: append(b, '{')}
	o.int("v", int64(p.V))
	o.str("type", "shadow_pair")
	o.str("id", p.ID)
	o.time("time", p.Time)
	o.str("model", p.Model)
	o.str("path", p.Path)
	o.bool("stream", p.Stream)
	o.str("session", p.Session)
	o.int("turn", int64(p.Number))
	o.float("ratio", p.Ratio)
	o.open("sides", '[')
	for i := range p.Sides {
		o.side(&p.Sides[i])
	}
	o.close(']')
	o.open("pairs", '[')
	for i := range p.Pairs {
		o.twin(&p.Pairs[i])
	}
	o.close(']')
	return append(o.b, '}')
}

func (o *object) side(s *Side) {
	o.item('{')
	o.str("arm", string(s.Arm))
	o.str("state", string(s.State))
	o.str("why", s.Why)
	o.str("id", s.ID)
	o.int("status", int64(s.Status))
	o.str("ending", string(s.Ending))
	o.str("verdict", string(s.Outcome))
	o.bool("suspect", s.Suspect)
	strs(o, "finish_reasons", s.Finish)
	o.int("calls", int64(s.Calls))
	o.int("prompt_tokens", s.Prompt)
	o.int("completion_tokens", s.Tokens)
	o.ms("ttfb_ms", s.TTFBMS)
	o.ms("token_ms", s.TokenMS)
	o.int("batch", int64(s.Batch))
	o.str("fingerprint", s.Print)
	o.str("body", s.Body)
	o.close('}')
}

func (o *object) twin(t *Twin) {
	o.item('{')
	o.str("a", string(t.A))
	o.str("b", string(t.B))
	o.str("outcome", string(t.Outcome))
	o.str("suspects", string(t.Suspects))
	o.bool("finish", t.Finish)
	o.bool("names", t.Names)
	o.bool("args", t.Args)
	o.int("first_diff", int64(t.FirstDiff))
	o.bool("prompt", t.Prompt)
	o.close('}')
}
