package report

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// world makes journals: sessions of turns on servers of every configuration of
// three flags. A session of which cause holds is corrupted with probability
// inside, others with background.
type world struct {
	seed       uint64
	turns      int // a session; default 5
	sessions   int
	boots      int // servers of each configuration; default 1
	inside     float64
	background float64
	suspects   float64 // share of turns that are suspect
	cause      func(dtype, graph, overlap string, batch int) bool
}

// origin is what the project began with.
func origin(dtype, graph, overlap string, batch int) bool {
	return dtype == "bf16" && graph == "on" && overlap == "on" && batch >= 2
}

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// write writes the journal.
func (w world) write(out io.Writer) error {
	b := bufio.NewWriter(out)
	rng := rand.New(rand.NewPCG(w.seed, 1))
	var line []byte
	for s := range w.sessions {
		for _, t := range w.session(rng, s) {
			line = append(t.AppendJSON(line[:0]), '\n')
			b.Write(line)
		}
	}
	return b.Flush()
}

// session makes the turns of session s.
func (w world) session(rng *rand.Rand, s int) []*turn.Turn {
	boots := max(1, w.boots)
	cell := s % (8 * boots)
	dtype, graph, overlap := pick(cell&1, "bf16", "fp8"), pick(cell>>1&1, "on", "off"), pick(cell>>2&1, "on", "off")
	batch := 1 + rng.IntN(32)
	p := w.background
	if w.cause != nil && w.cause(dtype, graph, overlap, batch) {
		p = w.inside
	}
	n := w.turns
	if n == 0 {
		n = 5
	}
	bad := -1
	if rng.Float64() < p {
		bad = rng.IntN(n)
	}
	var all []*turn.Turn
	for i := range n {
		t := w.turn(rng, s, i, batch)
		t.Tags["index_dtype"], t.Tags["cuda_graph"], t.Tags["overlap"] = header(dtype), header(graph), header(overlap)
		t.Tags["boot"] = header(fmt.Sprintf("b%d", cell))
		t.Fingerprint = fmt.Sprintf("%08x", cell)
		if i == bad {
			corrupt(t)
		}
		t.Suspect = rng.Float64() < w.suspects
		all = append(all, t)
	}
	return all
}

func pick(i int, values ...string) string { return values[i] }

func header(v string) turn.Tag { return turn.Tag{Value: v, Source: "header"} }

func (w world) turn(rng *rand.Rand, s, i, batch int) *turn.Turn {
	at := began.Add(time.Duration(s)*700*time.Millisecond + time.Duration(i)*3*time.Second)
	tokens := int64(1 + rng.IntN(700))
	return &turn.Turn{V: 1, ID: fmt.Sprintf("%d-%d-%d", w.seed, s, i), RequestID: fmt.Sprintf("session-%d-%d", s, i+1), Time: at,
		Model: "sim/DeepSeek-V4", Path: "/v1/chat/completions", Stream: true, Status: 200, Ending: validate.Complete,
		BytesIn: 2776, BytesOut: 3148, TTFBMS: 10.274, DurationMS: 376.138,
		Verdict: validate.Verdict{Outcome: validate.Clean, Checks: []validate.Check{"wire", "json", "schema", "markup", "text", "tokens"},
			Findings: []validate.Finding{}, Calls: 1, FinishReasons: []string{"tool_calls"}, Usage: &validate.Usage{PromptTokens: 192, CompletionTokens: tokens}},
		Tags: map[string]turn.Tag{"batch": {Value: fmt.Sprint(batch), Source: "facts"}, "batch_at_head": header(fmt.Sprint(max(1, batch-1))),
			"graph_bucket": header("32"), "rid": header(fmt.Sprintf("%032x", rng.Uint64())), "version": header("0.5.18"), "dp_rank": header("0"),
			"kv_cache_dtype": {Value: "fp8_e4m3", Source: "poll", AgeMS: 61200}, "gpu": {Value: "H200", Source: "label"}, "own_batch_mean": {Value: "15.3", Source: "own"}},
		Arm: turn.Live, Session: fmt.Sprintf("session-%06d", s), Number: i + 1}
}

func corrupt(t *turn.Turn) {
	t.Outcome = validate.Corrupted
	t.Findings = []validate.Finding{
		{Kind: validate.SchemaValue, Severity: validate.Major, Cause: validate.CauseUnknown, Call: new(int), Tool: "get_order", Path: "/order", Offset: 2151, AtMS: 191.461},
		{Kind: validate.ArgsSchemaViolated, Severity: validate.Major, Cause: validate.CauseUnknown, Call: new(int), Tool: "get_order", Path: "/order", Offset: 2151, AtMS: 191.461},
	}
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }
