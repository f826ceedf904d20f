package second

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"turnwatch/proxy/turn"
	"turnwatch/validate/opinion"
)

// alternatives is how many tokens are asked for at each place.
const alternatives = 5

// The most that scores take: a token with its alternatives, some 150 bytes as a rule, and
// what is told besides.
const (
	mostOfToken = 1 << 10
	mostBesides = 1 << 20
)

// question is a request to /generate that generates nothing.
type question struct {
	InputIDs []int32 `json:"input_ids"`
	Sampling struct {
		MaxNewTokens int     `json:"max_new_tokens"`
		Temperature  float64 `json:"temperature"`
	} `json:"sampling_params"`
	ReturnLogprob   bool `json:"return_logprob"`
	LogprobStartLen int  `json:"logprob_start_len"`
	TopLogprobsNum  int  `json:"top_logprobs_num"`
	Texts           bool `json:"return_text_in_logprobs"`
	Stream          bool `json:"stream"`
}

// score asks how probable the turn's tokens are, and judges that.
func (a *Asker) score(j *job, s opinion.Sampling) {
	in, out := j.tokens.Input, j.tokens.Output
	if len(in) == 0 || len(out) == 0 {
		j.unknown(opinion.NoTokens)
		return
	}
	q := question{InputIDs: append(in[:len(in):len(in)], out...), ReturnLogprob: true, TopLogprobsNum: alternatives, Texts: true}
	if !a.cfg.Live {
		q.LogprobStartLen = len(in) - 1
	}
	if !a.calm(a.cfg.MaxRunning) {
		j.unknown(Busy)
		return
	}
	j.o.By, j.o.Start = byScores, q.LogprobStartLen
	body, err := a.generate(q)
	if err != nil {
		j.unknown(failed(err))
		return
	}
	asked := opinion.Asked{IDs: wide(q.InputIDs), Start: q.LogprobStartLen, From: len(in)}
	scores, err := opinion.ReadScores(body, asked)
	if err != nil {
		a.cfg.Logger.Warn("the scores of a turn cannot be used", "turn_id", j.o.ID, "error", err)
		j.unknown(opinion.Lies)
		return
	}
	j.scored(a.cfg.Live, scores)
	j.judged(opinion.Judge(scores.Places, s, j.constrained), scores.Places, a.cfg.Show)
}

// generate asks, for no new token, and where that is refused for one.
func (a *Asker) generate(q question) ([]byte, error) {
	ctx, cancel := context.WithTimeout(a.ctx, a.cfg.Timeout)
	defer cancel()
	b, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	// What is read of numbers takes several times their text in memory: an answer is as
	// long as the question lets it be, and not as long as any may be.
	most := min(a.cfg.MaxAnswer, mostBesides+mostOfToken*int64(len(q.InputIDs)-q.LogprobStartLen))
	body, err := a.client.post(ctx, "/generate", b, most)
	var refused *statusError
	if !errors.As(err, &refused) || refused.status != http.StatusBadRequest {
		return body, err
	}
	q.Sampling.MaxNewTokens = 1
	if b, err = json.Marshal(q); err != nil {
		return nil, err
	}
	return a.client.post(ctx, "/generate", b, most)
}

func wide(ids []int32) []int {
	all := make([]int, len(ids))
	for i, id := range ids {
		all[i] = int(id)
	}
	return all
}

// scored notes what the scores rest on.
func (j *job) scored(live bool, s *opinion.Scores) {
	j.o.Cached = s.Cached
	switch {
	case s.Cached <= 0:
		j.o.Cache = cacheNone
	case live:
		j.o.Cache = cachePossible
	default:
		j.o.Cache = cacheOther
	}
}

// judged notes what the scores say.
func (j *job) judged(got opinion.Opinion, places []opinion.Place, show bool) {
	o := &j.o
	o.Word, o.Reason, o.Tokens, o.Onset = string(got.Word), string(got.Reason), got.Tokens, got.Onset
	o.Place = place(j.tokens, got.Onset)
	if got.Onset < 0 {
		return
	}
	p := places[got.Onset]
	o.LogProb = p.LogProb
	if show {
		o.Token = &turn.Piece{ID: p.ID, Text: p.Text}
	}
	for _, t := range p.Top {
		if t.ID == got.Alternative {
			o.Alternative = t.LogProb
			if show {
				o.Instead = &turn.Piece{ID: t.ID, Text: t.Text}
			}
		}
	}
}
