package sglangtest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const sk = "sk-test"

// factIDs are the ids that the facts of a turn tell.
type factIDs struct {
	Prompt     int     `json:"prompt_tokens"`
	Completion int     `json:"completion_tokens"`
	Input      []int32 `json:"input_ids"`
	Output     []int32 `json:"output_ids"`
}

// scored is an answer of /generate.
type scored struct {
	Text   string
	Output []int32 `json:"output_ids"`
	Meta   struct {
		Finish struct {
			Type   string
			Length int
		} `json:"finish_reason"`
		Prompt     int        `json:"prompt_tokens"`
		Completion int        `json:"completion_tokens"`
		Cached     int        `json:"cached_tokens"`
		Input      [][3]any   `json:"input_token_logprobs"`
		Next       [][3]any   `json:"output_token_logprobs"`
		Tops       [][][3]any `json:"input_top_logprobs"`
		NextTops   [][][3]any `json:"output_top_logprobs"`
	} `json:"meta_info"`
}

// converseFor plays one turn and returns the ids that its facts tell.
func converseFor(t *testing.T, s *Server, content string) factIDs {
	t.Helper()
	body, _ := json.Marshal(object{"model": "m", "stream": true, "messages": []any{user("hello"), object{"role": "assistant", "content": "Hi, é 你好."}, user(content)},
		"tools": []any{object{"type": "function", "function": object{"name": "get_ticket"}}}})
	resp, _ := do(t, s, sk, "POST", "/v1/chat/completions", string(body))
	_, text := do(t, s, sk, "GET", FactsPath+"/"+resp.Header.Get("x-sglang-rid"), "")
	var f factIDs
	if err := json.Unmarshal([]byte(text), &f); err != nil || f.Input == nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

func score1(t *testing.T, s *Server, ids []int32, start, most int, more object) scored {
	t.Helper()
	req := object{"input_ids": ids, "sampling_params": object{"max_new_tokens": most, "temperature": 0}, "return_logprob": true,
		"logprob_start_len": start, "top_logprobs_num": 4}
	for k, v := range more {
		req[k] = v
	}
	b, _ := json.Marshal(req)
	resp, body := do(t, s, sk, "POST", "/generate", string(b))
	var out scored
	if err := json.Unmarshal([]byte(body), &out); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d %s: %v", resp.StatusCode, body, err)
	}
	return out
}

// least returns the position of the output token that the model finds least
// likely beside its best, its probability and that of the best.
func least(s scored, output []int32) (at int, p, best float64) {
	first := len(s.Meta.Input) - len(output)
	worst := -1.0
	for i := range output {
		lp, top := s.Meta.Input[first+i][0].(float64), s.Meta.Tops[first+i][0][0].(float64)
		if top-lp > worst {
			worst, at, p, best = top-lp, i, math.Exp(lp), math.Exp(top)
		}
	}
	return at, p, best
}

func keeper(t *testing.T, faults ...string) *Server {
	t.Helper()
	cfg := Config{Plugin: true, KeepTokens: true, APIKey: sk}
	for _, name := range faults {
		f, err := NewFault(name, 1, 1, "deepseekv4")
		if err != nil {
			t.Fatal(err)
		}
		cfg.Faults = append(cfg.Faults, f)
	}
	return start(t, cfg)
}

func TestFactsTellTheTokens(t *testing.T) {
	s := keeper(t)
	f := converseFor(t, s, onePlan)
	if len(f.Input) != f.Prompt || len(f.Output) != f.Completion {
		t.Errorf("got %d and %d ids, want %d and %d", len(f.Input), len(f.Output), f.Prompt, f.Completion)
	}
	if got := decode(f.Input, true); got != "<|tools|>get_ticket<|user|>hello<|assistant|>Hi, é 你好.<|user|>"+onePlan+"<|assistant|>" {
		t.Errorf("input: got %s", got)
	}
	want := `<|call|>get_ticket<|args|>{"ticket": "TCK-4821", "depth": 3}<|call_end|><|call_end|><|call_end|><|eos|>`
	if got := decode(f.Output, true); !strings.HasSuffix(got, want) {
		t.Errorf("output: got %s, want …%s", got, want)
	}
	rid := s.Records()[0].RID
	if _, body := do(t, keeper(t), sk, "GET", FactsPath+"/"+rid, ""); strings.Contains(body, "_ids") {
		t.Errorf("another server told %s", body)
	}
	open := start(t, Config{Plugin: true, KeepTokens: true})
	converse(t, open, "", true)
	if _, body := do(t, open, "", "GET", FactsPath+"/"+open.Records()[0].RID, ""); strings.Contains(body, "_ids") {
		t.Errorf("a server without a key told %s", body)
	}
}

// TestScorerKnowsWhatTheModelMeant: what it emitted is likely, a swapped token
// absurd where the right one is near certain, and a mistake of its own likely.
// Another server of the same seed says the same.
func TestScorerKnowsWhatTheModelMeant(t *testing.T) {
	f := func(fault string, judge func(p, best float64, at int, r Record) bool) {
		t.Helper()
		s, other := keeper(t, fault), keeper(t, fault)
		for i := range 12 {
			ids := converseFor(t, s, fmt.Sprintf(`1. Call get_ticket with ticket = "TCK-48%02d-%x", depth = 3.`, i, hash(1, fmt.Sprint(i))))
			all := append(slices.Clone(ids.Input), ids.Output...)
			records := s.Records()
			r := records[len(records)-1]
			at, p, best := least(score1(t, other, all, len(ids.Input)-1, 0, nil), ids.Output)
			if !judge(p, best, at, r) {
				t.Errorf("%s %d: token %d %q has %g where the best has %g: %s", fault, i, at, decode(ids.Output[at:at+1], true), p, best, decode(ids.Output, true))
			}
		}
	}
	differ := func(r Record) int {
		for i, id := range r.OutputIDs {
			if i >= len(r.MeantIDs) || id != r.MeantIDs[i] {
				return i
			}
		}
		return -1
	}
	f("swapped", func(p, best float64, at int, r Record) bool { return p < 1e-12 && best > 0.97 && at == differ(r) })
	f("altered", func(p, best float64, at int, r Record) bool { return p < 1e-12 && best > 0.97 && at == differ(r) })
	f("mistake", func(p, best float64, at int, r Record) bool { return p > 0.4 && differ(r) < 0 })
	f("retokenised", func(p, best float64, at int, r Record) bool {
		return p < 1e-12 && best > 0.4 && len(r.OutputIDs) > len(r.MeantIDs) && decode(r.OutputIDs, true) == decode(r.MeantIDs, true)
	})
	f("delta_replay", func(p, best float64, at int, r Record) bool { return p > 0.1 })
}

func TestFreeTextIsUncertain(t *testing.T) {
	s := keeper(t)
	for i := range 8 {
		ids := converseFor(t, s, fmt.Sprint("How are you, ", i))
		all := append(slices.Clone(ids.Input), ids.Output...)
		if at, p, _ := least(score1(t, s, all, 0, 0, nil), ids.Output); p < 0.05 {
			t.Errorf("token %d has %g", at, p)
		}
	}
}

// TestShapesOfScores are those of SGLang: doc.go says where they are from.
func TestShapesOfScores(t *testing.T) {
	s := keeper(t)
	ids := converseFor(t, s, onePlan)
	all := append(slices.Clone(ids.Input), ids.Output...)
	f := func(start, most, entries, made, next, nextTops int) {
		t.Helper()
		r := score1(t, s, all, start, most, nil)
		m := r.Meta
		if len(m.Input) != entries || len(m.Tops) != entries || len(r.Output) != made || len(m.Next) != next || len(m.NextTops) != nextTops || m.Prompt != len(all) || m.Completion != made {
			t.Errorf("start %d, %d tokens: got %d and %d entries, %d made, %d and %d of them told, want %d, %d, %d and %d", start, most,
				len(m.Input), len(m.Tops), len(r.Output), len(m.Next), len(m.NextTops), entries, made, next, nextTops)
		}
		if start < 0 {
			start = len(all)
		}
		for i, e := range m.Input {
			if (e[0] == nil) != (i == 0) || (m.Tops[i] == nil) != (i == 0) || e[1] != float64(all[start+i]) || e[2] != nil || i > 0 && len(m.Tops[i]) != 4 {
				t.Fatalf("start %d: entry %d: got %v, %v", start, i, e, m.Tops[i])
			}
		}
		if m.Cached > start {
			t.Errorf("start %d: %d tokens cached", start, m.Cached)
		}
	}
	n := len(all)
	f(0, 0, n, 0, 0, 1)
	f(0, 1, n, 1, 1, 1)
	f(n-1, 1, 1, 1, 1, 1)
	f(n, 0, 0, 0, 0, 1)
	f(-1, 1, 0, 1, 1, 1)
	f(len(ids.Input)-1, 0, len(ids.Output)+1, 0, 0, 1)
	if r := score1(t, s, all, n-2, 0, object{"return_text_in_logprobs": true}); r.Meta.Input[1][2] != "<|eos|>" {
		t.Errorf("text: got %v", r.Meta.Input)
	}
	if r := score1(t, s, ids.Input, -1, 200, nil); !slices.Equal(r.Output[len(r.Output)-5:], ids.Output[len(ids.Output)-5:]) || r.Meta.Finish.Type != "stop" {
		t.Errorf("it went on with %q, want %q", decode(r.Output, true), decode(ids.Output, true))
	}
}

func TestScorerRefusesAsSGLangDoes(t *testing.T) {
	s := keeper(t)
	f := func(body string, status int, want string) {
		t.Helper()
		resp, got := do(t, s, sk, "POST", "/generate", body)
		if resp.StatusCode != status || !strings.Contains(got, want) {
			t.Errorf("%s: got %d %s, want %d %s", body, resp.StatusCode, got, status, want)
		}
	}
	f(`{"sampling_params":{}}`, 400, `{"error":{"message":"Either text, input_ids or input_embeds should be provided."}}`)
	f(`{"input_ids":[]}`, 400, `{"error":{"message":"input_ids cannot be empty."}}`)
	f(`{"input_ids":[20],"sampling_params":{"max_new_tokens":-1}}`, 400, `max_new_tokens must be at least 0, got -1.`)
	f(`{"input_ids":[20],"return_logprob":true,"logprob_start_len":2}`, 400, `req.logprob_start_len=2 is higher than the number of input tokens len(req.origin_input_ids)=1.`)
	f(`{"input_ids":"x"}`, 400, `"object":"error"`)
	f(`{"input_ids":[20],"logprob_start_len":2,"sampling_params":{"max_new_tokens":0}}`, 200, `"output_ids":[],"meta_info":{`)
	const fatal = `{"input_ids":[20,21],"return_logprob":true,"logprob_start_len":-2}`
	if got := raw(t, s, fmt.Sprintf("POST /generate HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", sk, len(fatal), fatal)); got != "" {
		t.Errorf("a request that kills the scheduler: got %s", got)
	}
}

func TestScorerThatLies(t *testing.T) {
	truth := keeper(t)
	ids := converseFor(t, truth, onePlan)
	all := append(slices.Clone(ids.Input), ids.Output...)
	want := score1(t, truth, all, 0, 0, nil).Meta.Input
	for _, lie := range Lies() {
		s := start(t, Config{Scorer: Scorer{Lie: lie}})
		if got := score1(t, s, all, 0, 0, nil).Meta.Input; fmt.Sprint(got) == fmt.Sprint(want) {
			t.Errorf("%s: told the truth", lie)
		}
	}
	busy := start(t, Config{Scorer: Scorer{Busy: true}})
	if resp, body := do(t, busy, "", "POST", "/generate", `{"input_ids":[20]}`); resp.StatusCode != 503 || body != `{"object":"error","message":"The request queue is full.","type":"503","param":null,"code":503}` {
		t.Errorf("busy: got %d %s", resp.StatusCode, body)
	}
	slow := start(t, Config{Scorer: Scorer{Stall: 20 * time.Millisecond}})
	begin := time.Now()
	if score1(t, slow, all, 0, 0, nil); time.Since(begin) < 20*time.Millisecond {
		t.Error("it did not stall")
	}
}

// TestDamagedCacheMisleads: an answer that used it finds the damage likely and
// what is right absurd; with logprob_start_len 0 it is not used.
func TestDamagedCacheMisleads(t *testing.T) {
	f := func(fault string, throughCache, without bool) {
		t.Helper()
		s := keeper(t, fault)
		s.cfg.Scorer.Damaged = true
		ids := converseFor(t, s, `1. Answer: "TCK-4821 is closed"`)
		all := append(slices.Clone(ids.Input), ids.Output...)
		for _, start := range []int{len(ids.Input) - 1, 0} {
			r := score1(t, s, all, start, 0, nil)
			_, p, _ := least(r, ids.Output)
			want := throughCache
			if start == 0 {
				want = without
			}
			if got := p > 0.9; got != want || (r.Meta.Cached > 0) != (start > 0) {
				t.Errorf("%s, start %d: least likely token has %g, %d cached", fault, start, p, r.Meta.Cached)
			}
		}
	}
	f("swapped", true, false)
	f("post_finish", false, true)
}

// TestScoresAreWrittenAsRecorded: key by key in the order of SGLang's own
// answers, with values of the same kind.
func TestScoresAreWrittenAsRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/scores/*.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d recorded answers, %v", len(files), err)
	}
	s := start(t, Config{})
	score1(t, s, []int32{20, 21, 22, 23, 24, 25, 26}, 0, 0, nil) // so that some are cached
	for _, file := range files {
		most := 0
		if strings.Contains(file, "token-") {
			most = 1
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"input_ids":[20,21,22,23,24,25,26],"sampling_params":{"max_new_tokens":%d,"temperature":0},"return_logprob":true,"logprob_start_len":3,"top_logprobs_num":2,"rid":"recorded"}`, most)
		_, got := do(t, s, "", "POST", "/generate", body)
		if g, w := outline(got), outline(string(want)); g != w {
			t.Errorf("%s: got\n%s\nwant\n%s", file, g, w)
		}
	}
}

var (
	texts   = regexp.MustCompile(`:"[^"]*"`)
	numbers = regexp.MustCompile(`-?[0-9][0-9.]*(e-?[0-9]+)?`)
)

// outline is an answer with its texts and numbers blotted out.
func outline(src string) string {
	return strings.TrimSpace(numbers.ReplaceAllString(texts.ReplaceAllString(src, `:""`), "0"))
}

// TestHalfAListIsNotTold, of a turn that is too long or too old.
func TestHalfAListIsNotTold(t *testing.T) {
	s := keeper(t)
	f := converseFor(t, s, onePlan)
	s.engine.mu.Lock()
	r := s.engine.records[0]
	r.OutputIDs = r.OutputIDs[:len(r.OutputIDs)-1]
	s.engine.mu.Unlock()
	_, body := do(t, s, sk, "GET", FactsPath+"/"+r.RID, "")
	if !strings.Contains(body, fmt.Sprintf(`"output_ids_of":%d`, f.Completion)) || strings.Contains(body, `"output_ids":`) || !strings.Contains(body, `"input_ids":[`) {
		t.Errorf("got %s", body)
	}
	s.engine.mu.Lock()
	s.engine.ids = roomForIDs
	s.engine.mu.Unlock()
	converseFor(t, s, onePlan)
	if _, body := do(t, s, sk, "GET", FactsPath+"/"+r.RID, ""); !strings.Contains(body, fmt.Sprintf(`"input_ids_of":%d`, f.Prompt)) {
		t.Errorf("an old turn: got %s", body)
	}
}
