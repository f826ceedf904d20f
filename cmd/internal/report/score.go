package report

import (
	"math"
	"slices"
	"strings"

	"turnwatch/validate/stats"
)

// Scorecard holds the figures that model vendors and routers publish, from the
// turns of chat completions as they passed, by the rules of those who publish
// them: with their blind spots, beside ours.
type Scorecard struct {
	K2VV       K2VV       `json:"k2vv"`
	OpenRouter OpenRouter `json:"openrouter"`
	MiniMax    MiniMax    `json:"minimax"`
	Ours       Ours       `json:"turnwatch"`
	// Valid is the share of tool calls, one by one, that are valid by our rules:
	// all that counters know, which leaves the figures of vendors at 0.
	Valid *Share `json:"valid_calls,omitempty"`
}

// K2VV are the figures of K2-Vendor-Verifier, in the names of its summary. It
// counts answers, takes one without a finish reason for stop, and looks at calls
// under the finish reason tool_calls alone.
type K2VV struct {
	Model          string         `json:"model"`
	Success        int            `json:"success_count"`
	Failure        int            `json:"failure_count"`
	Stop           int            `json:"finish_stop"`
	ToolCalls      int            `json:"finish_tool_calls"`
	Others         int            `json:"finish_others"`
	OthersDetail   map[string]int `json:"finish_others_detail"`
	Errors         int            `json:"schema_validation_error_count"`
	Successful     int            `json:"successful_tool_call_count"`
	Usage          K2Usage        `json:"usage"`
	Started        string         `json:"eval_started_at"`
	Finished       string         `json:"eval_finished_at"`
	DurationMS     int64          `json:"eval_duration_ms"`
	Unknown        int            `json:"unjudged_tool_calls"` // answers whose calls were too much to be judged; in no other figure but finish_tool_calls
	SchemaAccuracy Share          `json:"schema_accuracy"`     // successful_tool_call_count of finish_tool_calls
}

// K2Usage sums the tokens.
type K2Usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// OpenRouter is the tool call error rate: of the answers with calls, those of
// which any call is in error.
type OpenRouter struct {
	Errors  Share `json:"tool_call_error_rate"`
	JSON    int   `json:"invalid_json"`
	Name    int   `json:"unknown_name"`
	Mistype int   `json:"schema_mismatch"`
}

// MiniMax are the figures of MiniMax-Provider-Verifier that need no reference.
type MiniMax struct {
	Success       Share `json:"query_success_rate"`
	FinishCalls   Share `json:"finish_tool_calls_rate"`
	Accuracy      Share `json:"tool_calls_accuracy"`
	OnlyReasoning Share `json:"error_only_reasoning_rate"`
	Language      Share `json:"language_following_rate"` // answers without Cyrillic letters
}

// Ours are our own, of the same answers.
type Ours struct {
	Calls Share `json:"corrupted_turns_with_calls"` // turns with calls that are corrupted
	Turns Share `json:"corrupted_turns"`
	Stop  int   `json:"corrupted_under_stop"` // corrupted turns that finished for stop or for nothing: no verifier looks at them
}

// Share is a count of a whole, with Wilson's 95% interval.
type Share struct {
	N    int     `json:"n"`
	Of   int     `json:"of"`
	Rate float64 `json:"rate"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func newShare(n, of int) Share {
	lo, hi := stats.Wilson(n, of)
	return Share{n, of, stats.Arm{K: n, N: of}.Rate(), lo, hi}
}

const toolCalls = "tool_calls"

// finish returns the finish reason as verifiers have it.
func (v view) finish(r *row) string {
	switch f := v.d.finishes.all[r.finish]; {
	case r.score&k2Mask != 0 || r.score&k2Unknown != 0:
		return toolCalls
	case f == toolCalls:
		return "stop" // another reason came later, and theirs is the last
	case f == "":
		return "stop"
	default:
		return f
	}
}

// scorecard makes it; nil where no turn is a chat completion with anything to
// be scored.
func (v view) scorecard() *Scorecard {
	if !slices.ContainsFunc(v.rows, func(r *row) bool { return r.score != 0 }) {
		return nil
	}
	c := &Scorecard{}
	c.K2VV.OthersDetail = map[string]int{}
	models := map[int32]bool{}
	var t scoreTally
	for _, r := range v.rows {
		models[r.model] = true
		c.add(v, r, &t)
	}
	c.K2VV.Model = v.d.named(models)
	c.close(&t)
	v.times(&c.K2VV)
	return c
}

// named lists models. A request that no server took has none.
func (d *Data) named(models map[int32]bool) string {
	var names []string
	for m := range models {
		if name := d.models.all[m]; name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// scoreTally counts what figures are made of.
type scoreTally struct {
	answers, calls, badCalls, judged, bad, only, cyrillic int
}

func (c *Scorecard) add(v view, r *row, t *scoreTally) {
	if r.flags&isFailed != 0 {
		c.K2VV.Failure++
		return
	}
	k := &c.K2VV
	k.Success++
	k.Usage.Prompt += int64(max(0, r.prompt))
	k.Usage.Completion += int64(max(0, r.tokens))
	switch f := v.finish(r); f {
	case "stop":
		k.Stop++
		if r.bad() {
			c.Ours.Stop++
		}
	case toolCalls:
		k.ToolCalls++
		c.calls(r)
	default:
		k.Others++
		k.OthersDetail[f]++
	}
	c.routed(r)
	t.add(r)
}

func (c *Scorecard) calls(r *row) {
	switch k := &c.K2VV; {
	case r.score&k2Unknown != 0:
		k.Unknown++
	case r.score&k2Mask == k2Valid:
		k.Successful++
	default:
		k.Errors++
	}
}

func (c *Scorecard) routed(r *row) {
	switch r.score & orMask {
	case orJSON:
		c.OpenRouter.JSON++
	case orName:
		c.OpenRouter.Name++
	case orSchema:
		c.OpenRouter.Mistype++
	case orOK:
	default:
		return
	}
	c.OpenRouter.Errors.Of++
}

func (t *scoreTally) add(r *row) {
	t.answers++
	t.only += int(r.score & onlyReasoning / onlyReasoning)
	t.cyrillic += int(r.score & hasCyrillic / hasCyrillic)
	if !r.judged() {
		return
	}
	t.judged++
	if r.bad() {
		t.bad++
	}
	if r.calls > 0 {
		t.calls++
		if r.bad() {
			t.badCalls++
		}
	}
}

// close makes rates of the counts.
func (c *Scorecard) close(t *scoreTally) {
	k, o := &c.K2VV, &c.OpenRouter
	k.Usage.Total = k.Usage.Prompt + k.Usage.Completion
	k.SchemaAccuracy = newShare(k.Successful, k.ToolCalls-k.Unknown)
	o.Errors = newShare(o.JSON+o.Name+o.Mistype, o.Errors.Of)
	c.MiniMax = MiniMax{
		Success:       newShare(k.Success, k.Success+k.Failure),
		FinishCalls:   newShare(k.ToolCalls, k.Success),
		Accuracy:      k.SchemaAccuracy,
		OnlyReasoning: newShare(t.only, t.answers),
		Language:      newShare(t.answers-t.cyrillic, t.answers),
	}
	c.Ours.Calls, c.Ours.Turns = newShare(t.badCalls, t.calls), newShare(t.bad, t.judged)
}

// times says when the turns began and ended.
func (v view) times(k *K2VV) {
	end := int64(math.MinInt64)
	for _, r := range v.rows {
		end = max(end, r.end())
	}
	k.Started, k.Finished = iso(v.rows[0].at), iso(end)
	k.DurationMS = (end - v.rows[0].at) / 1e6
}

// matches holds the turns of the same requests, by the ids that clients gave
// them, on both sides against one another; A is the reference.
func matches(a, b view) []Match {
	twin := map[uint64]*row{}
	for _, r := range a.rows {
		if r.request != 0 {
			twin[r.request] = r
		}
	}
	var strict, lax f1
	same, n := 0, 0
	for _, r := range b.rows {
		ref := twin[r.request]
		if r.request == 0 || ref == nil {
			continue
		}
		n++
		want, got := a.finish(ref) == toolCalls, b.finish(r) == toolCalls
		lax.add(want, got && r.flags&isFailed == 0)
		if (ref.flags|r.flags)&isFailed == 0 {
			strict.add(want, got)
		}
		if ref.calls == r.calls {
			same++
		}
	}
	if n == 0 {
		return []Match{}
	}
	return []Match{strict.match("tool_call_f1, requests that failed left out (FLock)"), lax.match("tool_call_f1, a failed request made no call (MiniMax)"),
		{Name: "as many calls", N: same, Of: n}, {Name: "Multi-ToolCalls similarity (cosine)", N: n, Of: n, F1: cosine(a, b)}}
}

// f1 counts who called tools: the reference, the other, both.
type f1 struct{ tp, fp, fn, n int }

func (f *f1) add(want, got bool) {
	f.n++
	switch {
	case want && got:
		f.tp++
	case got:
		f.fp++
	case want:
		f.fn++
	}
}

func (f *f1) match(name string) Match {
	m := Match{Name: name, N: f.tp, Of: f.n}
	if f.tp > 0 {
		m.F1 = 2 * float64(f.tp) / float64(2*f.tp+f.fp+f.fn)
	}
	return m
}

// cosine compares how many answers of each side have how many calls.
func cosine(a, b view) float64 {
	count := func(v view) map[int32]float64 {
		m := map[int32]float64{}
		for _, r := range v.rows {
			m[r.calls]++
		}
		return m
	}
	x, y := count(a), count(b)
	dot, xx, yy := 0.0, 0.0, 0.0
	for k, n := range x {
		dot += n * y[k]
		xx += n * n
	}
	for _, n := range y {
		yy += n * n
	}
	if xx*yy == 0 {
		return 0
	}
	return dot / math.Sqrt(xx*yy)
}
