package sglangtest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"
)

// Scorer is how a server answers a request for log probabilities. The zero
// value tells what the model thinks, at once.
type Scorer struct {
	// Lie is what is wrong with what it tells.
	Lie Lie
	// Stall is for how long it says nothing.
	Stall time.Duration
	// Busy refuses each request for a full queue.
	Busy bool
	// Damaged is that its prefix cache holds damage: where an answer used the
	// cache (cached_tokens above 0), the model sees another prompt, and finds
	// likely what Swapped makes of its answers.
	Damaged bool
}

// Lie is a way of telling the wrong log probabilities.
type Lie string

// The lies.
const (
	Random  Lie = "random"  // log probabilities that nothing says
	IDs     Lie = "ids"     // entries of other tokens than were asked about
	Shifted Lie = "shifted" // the entries of the next position
	Short   Lie = "short"   // one entry fewer
	Null    Lie = "null"    // no numbers: the model computed none
)

// Lies lists the lies.
func Lies() []Lie { return []Lie{Random, IDs, Shifted, Short, Null} }

// scoreRequest is what is read of a request to /generate.
type scoreRequest struct {
	Text   string  `json:"text"`
	IDs    []int32 `json:"input_ids"`
	Params struct {
		Max *int `json:"max_new_tokens"`
	} `json:"sampling_params"`
	Logprob  bool   `json:"return_logprob"`
	Start    *int   `json:"logprob_start_len"`
	Top      int    `json:"top_logprobs_num"`
	WithText bool   `json:"return_text_in_logprobs"`
	Stream   bool   `json:"stream"`
	RID      string `json:"rid"`

	max, start int // as SGLang fills them in
}

func parseScore(raw []byte) (*scoreRequest, error) {
	r := &scoreRequest{max: 128, start: -1}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, err
	}
	if r.Params.Max != nil {
		r.max = *r.Params.Max
	}
	if r.Start != nil && r.Logprob {
		r.start = *r.Start
	}
	if r.IDs == nil && r.Text != "" {
		r.IDs = encode(nil, r.Text)
	}
	return r, nil
}

// contextLen is the model's, as /v1/models says.
const contextLen = 131_072

// invalid is what SGLang objects to in r.
func (r *scoreRequest) invalid() string {
	switch n := len(r.IDs); {
	case r.IDs == nil:
		return "Either text, input_ids or input_embeds should be provided."
	case n == 0:
		return "input_ids cannot be empty."
	case n >= contextLen:
		return fmt.Sprintf("The input (%d tokens) is longer than the model's context length (%d tokens).", n, contextLen)
	case r.max < 0:
		return fmt.Sprintf("max_new_tokens must be at least 0, got %d.", r.max)
	case r.start > n:
		return fmt.Sprintf("req.logprob_start_len=%d is higher than the number of input tokens len(req.origin_input_ids)=%d. Please use a smaller logprob_start_len.", r.start, n)
	}
	return ""
}

// fatal reports whether SGLang's scheduler dies of r: it checks neither.
func (r *scoreRequest) fatal() bool {
	for _, id := range r.IDs {
		if id < 0 || id >= VocabSize {
			return true
		}
	}
	return r.start < -1
}

// generate answers a request to /generate: what the model makes of tokens, and
// how likely it finds them.
func (s *Server) generate(ctx context.Context, w *writer, raw []byte) {
	r, err := parseScore(raw)
	if err != nil {
		refuse(w, http.StatusBadRequest, "Bad Request", "%s", complaint(err))
		return
	}
	if bad := r.invalid(); bad != "" {
		w.json(http.StatusBadRequest, []byte(`{"error":{"message":`+quote(bad)+`}}`))
		return
	}
	if s.cfg.Scorer.Busy {
		refuse(w, http.StatusServiceUnavailable, "503", "The request queue is full.")
		return
	}
	if r.fatal() || !s.stall(ctx) {
		w.cut()
		return
	}
	s.score(ctx, w, r)
}

// stall says nothing for a while. It reports false when the client has left.
func (s *Server) stall(ctx context.Context) bool {
	if s.cfg.Scorer.Stall == 0 {
		return true
	}
	t := time.NewTimer(s.cfg.Scorer.Stall)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// score runs r through the batch, as a prefill and as many steps as it wants
// tokens.
func (s *Server) score(ctx context.Context, w *writer, r *scoreRequest) {
	begin := time.Now()
	sc := s.newScore(r)
	rec := &Record{RID: r.RID, PromptTokens: len(r.IDs), CUDAGraph: !s.cfg.DisableCUDAGraph, InputIDs: r.IDs}
	if rec.RID == "" {
		rec.RID = s.newID()
	}
	q, err := s.engine.submit(rec, State{}, &Answer{Silent: max(1, len(sc.made))}, 0)
	if err != nil {
		w.json(http.StatusBadRequest, []byte(`{"error":{"message":`+quote("Duplicate request ID detected: "+rec.RID)+`}}`))
		return
	}
	for {
		_, end, err := s.engine.next(ctx, q)
		if err != nil {
			s.engine.leave(q)
			w.cut()
			return
		}
		if end != nil {
			break
		}
	}
	body := sc.body(rec.RID, time.Since(begin))
	if !r.Stream {
		w.json(http.StatusOK, body, s.fields(rec)...)
		return
	}
	w.stream(http.StatusOK, eventStream, s.fields(rec)...)
	w.chunk(fmt.Appendf(nil, "data: %s\n\n", body))
	w.chunk([]byte(done))
	w.end()
}

// score is an answer to a request for log probabilities.
type score struct {
	r      *scoreRequest
	first  int    // position of the first entry
	input  []dist // from first on
	output []dist // of each token that was made, or of the one that would be next
	made   []int32
	cached int
	lie    Lie
}

func (s *Server) newScore(r *scoreRequest) *score {
	sc := &score{r: r, first: r.start, lie: s.cfg.Scorer.Lie}
	if r.start < 0 {
		sc.first = len(r.IDs)
	}
	s.engine.mu.Lock()
	sc.cached = s.engine.cached(r.IDs, sc.first)
	s.engine.counters.Scored++
	s.engine.mu.Unlock()
	damaged := s.cfg.Scorer.Damaged && sc.cached > 0
	all := s.expect(r.IDs, sc.first, damaged)
	sc.input, sc.output = all[:len(all)-1], all[len(all)-1:]
	s.make(sc, damaged)
	return sc
}

// make has the model go on, always with what it finds likeliest.
func (s *Server) make(sc *score, damaged bool) {
	ids := sc.r.IDs[:len(sc.r.IDs):len(sc.r.IDs)]
	for len(sc.made) < sc.r.max {
		id := sc.output[len(sc.made)].top[0].id
		sc.made = append(sc.made, id)
		if id == tokEOS || len(sc.made) == sc.r.max {
			return
		}
		ids = append(ids, id)
		sc.output = append(sc.output, s.expect(ids, len(ids), damaged)...)
	}
}

// entries are [logprob, id, text] of each position of ids, and the likeliest of
// each. The first of a list has none: nothing stands before it.
func (sc *score) entries(ids []int32, all []dist, first bool) (tokens, tops []string) {
	for i, id := range ids {
		if first && i == 0 {
			tokens, tops = append(tokens, sc.entry("null", id)), append(tops, "null")
			continue
		}
		d := sc.at(all, i)
		tokens = append(tokens, sc.entry(sc.number(d.of(id), i), sc.told(id)))
		tops = append(tops, sc.top(d, i))
	}
	return tokens, tops
}

// at is what is told of position i.
func (sc *score) at(all []dist, i int) *dist {
	if sc.lie == Shifted {
		i = min(i+1, len(all)-1)
	}
	return &all[i]
}

func (sc *score) told(id int32) int32 {
	if sc.lie == IDs {
		return (id + 1) % VocabSize
	}
	return id
}

// number writes the logarithm of p as SGLang does: a 32-bit float.
func (sc *score) number(p float64, i int) string {
	switch sc.lie {
	case Null:
		return "null"
	case Random:
		p = math.Exp(-20 * chance(uint64(i), "random", fmt.Sprint(p)))
	}
	b, _ := json.Marshal(float64(float32(math.Log(p)))) // a number
	if !strings.ContainsAny(string(b), ".e") {
		b = append(b, ".0"...)
	}
	return string(b)
}

func (sc *score) entry(number string, id int32) string {
	text := "null"
	if sc.r.WithText {
		text = quote(strings.ToValidUTF8(decode([]int32{id}, true), "\uFFFD"))
	}
	return fmt.Sprintf("[%s,%d,%s]", number, id, text)
}

// top are as many of the likeliest tokens as were asked for.
func (sc *score) top(d *dist, at int) string {
	var list []string
	for i := range sc.r.Top {
		l := likely{int32(tokPairs + i), math.Exp(-37 - float64(i)/100)} // no text has these
		if i < len(d.top) {
			l = d.top[i]
		}
		list = append(list, sc.entry(sc.number(l.p, at*64+i), l.id))
	}
	return array(list)
}

func array(list []string) string { return "[" + strings.Join(list, ",") + "]" }

// body is the answer as SGLang serializes it.
func (sc *score) body(rid string, took time.Duration) []byte {
	n, finish := sc.r.max, ""
	if len(sc.made) > 0 && sc.made[len(sc.made)-1] == tokEOS {
		finish = fmt.Sprintf(`{"type":"stop","matched":%d}`, tokEOS)
	} else {
		finish = fmt.Sprintf(`{"type":"length","length":%d}`, n)
	}
	ids, _ := json.Marshal(append([]int32{}, sc.made...)) // numbers
	return fmt.Appendf(nil, `{"text":%s,"output_ids":%s,"meta_info":{"id":%s,"finish_reason":%s,"prompt_tokens":%d,"weight_version":"default","num_retractions":0,%s`+
		`"reasoning_tokens":0,"completion_tokens":%d,"cached_tokens":%d,"cached_tokens_details":%s,"dp_rank":null,"e2e_latency":%g,"response_sent_to_client_ts":%.6f}}`,
		quote(strings.ToValidUTF8(decode(sc.made, false), "\uFFFD")), ids, quote(rid), finish, len(sc.r.IDs), sc.logprobs(), len(sc.made), sc.cached, sc.details(), took.Seconds(), seconds(time.Now()))
}

// details tells where the cached tokens were.
func (sc *score) details() string {
	if sc.cached == 0 {
		return "null"
	}
	return fmt.Sprintf(`{"device":%d,"host":0}`, sc.cached)
}

// logprobs are the fields that return_logprob adds. A prefill that makes no
// token tells none of the next one, but what might come instead.
func (sc *score) logprobs() string {
	if !sc.r.Logprob {
		return ""
	}
	tokens, tops := sc.entries(sc.r.IDs[sc.first:], sc.input, true)
	if n := len(tokens); sc.lie == Short && n > 0 {
		tokens, tops = tokens[:n-1], tops[:n-1]
	}
	made, next := sc.entries(sc.made, sc.output, false)
	if len(sc.made) == 0 {
		next = []string{sc.top(&sc.output[0], 0)}
	}
	out := fmt.Sprintf(`"input_token_logprobs":%s,"output_token_logprobs":%s,"output_token_logprobs_length":%d,`, array(tokens), array(made), len(made))
	if sc.r.Top > 0 {
		out += fmt.Sprintf(`"input_top_logprobs":%s,"output_top_logprobs":%s,`, array(tops), array(next))
	}
	return out
}
