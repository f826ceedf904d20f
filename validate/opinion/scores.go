package opinion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// Token is one token with its probability, as the natural logarithm.
type Token struct {
	ID      int
	LogProb float64
	Text    string
	Told    bool // whether Text is known
}

// P is the token's probability.
func (t Token) P() float64 { return math.Exp(t.LogProb) }

// Place is a token of a turn and the most probable ones at its place, the most
// probable first.
type Place struct {
	Token
	Top []Token
}

// Scores is what a server answers that was asked for the probabilities of tokens.
type Scores struct {
	Places []Place // of the output
	Cached int     // tokens of the prompt that were not computed anew
	Prompt int     // tokens that the server says it was sent
}

// Asked is what the server was asked for.
type Asked struct {
	IDs   []int // that were sent: prompt, then output
	Start int   // logprob_start_len: the first token that is told of, whose own probability is not
	From  int   // where the output begins; above Start
}

// reply is the part of an answer of /generate that is read.
type reply struct {
	Meta struct {
		Tokens []told            `json:"input_token_logprobs"`
		Top    []json.RawMessage `json:"input_top_logprobs"` // a list each, or null
		Prompt int               `json:"prompt_tokens"`
		Cached int               `json:"cached_tokens"`
	} `json:"meta_info"`
}

// told is [log probability or null, id, text or null].
type told struct {
	Token
	known bool // the probability is told
}

// UnmarshalJSON reads the three.
func (t *told) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	var three []json.RawMessage
	if err := json.Unmarshal(b, &three); err != nil || len(three) < 2 || len(three) > 3 {
		return fmt.Errorf("a token is not told as [log probability, id, text]")
	}
	var p *float64
	var text *string
	if err := json.Unmarshal(three[0], &p); err != nil {
		return err
	}
	if err := json.Unmarshal(three[1], &t.ID); err != nil {
		return err
	}
	if len(three) == 3 {
		if err := json.Unmarshal(three[2], &text); err != nil {
			return err
		}
	}
	if p != nil {
		t.LogProb, t.known = *p, true
	}
	if text != nil {
		t.Text, t.Told = *text, true
	}
	return nil
}

// ReadScores reads an answer of SGLang's /generate, and refuses one that is not of the
// tokens that were sent, in their order, or cannot be true.
func ReadScores(body []byte, a Asked) (*Scores, error) {
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("read the scores: %w", err)
	}
	want := a.IDs[a.Start:]
	switch {
	case len(r.Meta.Tokens) != len(want) || len(r.Meta.Top) != len(want):
		return nil, fmt.Errorf("the scores are of %d tokens, and their alternatives of %d, where %d were asked for",
			len(r.Meta.Tokens), len(r.Meta.Top), len(want))
	case r.Meta.Prompt != 0 && r.Meta.Prompt != len(a.IDs):
		return nil, fmt.Errorf("the server was sent %d tokens and counts %d", len(a.IDs), r.Meta.Prompt)
	}
	s := &Scores{Cached: r.Meta.Cached, Prompt: r.Meta.Prompt}
	for i, id := range want {
		if r.Meta.Tokens[i].ID != id {
			return nil, fmt.Errorf("the scores name another token at %d than was sent", a.Start+i)
		}
		if a.Start+i < a.From {
			continue
		}
		var top []told
		err := json.Unmarshal(r.Meta.Top[i], &top)
		var p Place
		if err == nil {
			p, err = place(r.Meta.Tokens[i], top)
		}
		if err != nil {
			return nil, fmt.Errorf("the scores of token %d: %w", a.Start+i, err)
		}
		s.Places = append(s.Places, p)
	}
	return s, nil
}

// agrees is how far two probabilities of one token may lie apart in one answer, as logarithms.
const agrees = 0.01

// place checks what is told of one.
func place(t told, top []told) (Place, error) {
	p := Place{Token: t.Token}
	if !t.known || !logarithm(t.LogProb) {
		return p, fmt.Errorf("no probability")
	}
	sum, seen := 0.0, map[int]bool{}
	for i, a := range top {
		switch {
		case !a.known || !logarithm(a.LogProb):
			return p, fmt.Errorf("an alternative without a probability")
		case seen[a.ID]:
			return p, fmt.Errorf("an alternative is told twice")
		case i > 0 && a.LogProb > top[i-1].LogProb+agrees:
			return p, fmt.Errorf("alternatives are out of order")
		case a.ID == t.ID && math.Abs(a.LogProb-t.LogProb) > agrees:
			return p, fmt.Errorf("one token has two probabilities")
		}
		seen[a.ID] = true
		sum += a.P()
		p.Top = append(p.Top, a.Token)
	}
	if !seen[t.ID] {
		sum += t.P()
	}
	switch {
	case len(top) == 0:
		return p, fmt.Errorf("no alternatives")
	case sum > 1+agrees:
		return p, fmt.Errorf("probabilities add up to more than 1")
	case !seen[t.ID] && t.LogProb > top[len(top)-1].LogProb+agrees:
		return p, fmt.Errorf("a token is more probable than the most probable ones")
	}
	return p, nil
}

// logarithm reports whether it can be one of a probability.
func logarithm(lp float64) bool { return !math.IsNaN(lp) && lp <= agrees && lp > -1e6 }
