package validate

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// turnCase is one file of testdata/cases: a request, its answer, and what is
// to be said of it.
type turnCase struct {
	ID       string
	Request  json.RawMessage
	Response struct {
		Stream   bool
		Status   int
		Headers  map[string]string
		Chunks   []json.RawMessage
		Body     json.RawMessage
		BodyText string `json:"body_text"`
		BodyB64  string `json:"body_b64"`
	}
	Expect struct {
		Verdict        Outcome
		AcceptVerdicts []Outcome `json:"accept_verdicts"`
		Kinds          []string
		Lints          []string
		Severity       string
	}
}

// loadCases reads all cases.
func loadCases(t testing.TB) []turnCase {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	cases := make([]turnCase, len(files))
	for i, f := range files {
		raw, err := os.ReadFile(f)
		if err == nil {
			err = json.Unmarshal(raw, &cases[i])
		}
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
	}
	return cases
}

// pieces are the network writes of the answer.
func (tc *turnCase) pieces(t testing.TB) [][]byte {
	t.Helper()
	switch r := &tc.Response; {
	case r.Chunks != nil:
		var out [][]byte
		for _, raw := range r.Chunks {
			out = append(out, chunk(t, raw))
		}
		return out
	case r.BodyText != "":
		return [][]byte{[]byte(r.BodyText)}
	case r.BodyB64 != "":
		b, err := base64.StdEncoding.DecodeString(r.BodyB64)
		if err != nil {
			t.Fatalf("%s: %v", tc.ID, err)
		}
		return [][]byte{b}
	default:
		return [][]byte{r.Body}
	}
}

func chunk(t testing.TB, raw json.RawMessage) []byte {
	t.Helper()
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []byte(s)
	}
	var b struct{ B64 []byte }
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	return b.B64
}

// judge runs an answer in the given pieces, a millisecond apart.
func (tc *turnCase) judge(t testing.TB, how Ending, pieces [][]byte) Verdict {
	t.Helper()
	req, err := ParseRequest("/v1/chat/completions", tc.Request)
	if err != nil {
		t.Fatalf("%s: %v", tc.ID, err)
	}
	c := NewChecker(req, Head{Status: tc.Response.Status, ContentType: tc.Response.Headers["content-type"]})
	for i, p := range pieces {
		c.Feed(time.Duration(i)*time.Millisecond, p)
	}
	return c.Finish(how)
}

// notYet are the cases whose fault lies in text, which is not judged yet.
var notYet = []string{
	"ascend-dsv4-text-from-another-conversation",
	"bedrock-dsv32-opening-tag-residue",
	"closing-tag-loop-until-budget",
	"dsv4-double-bar-variant-split-across-chunks",
	"ferrox-replacement-chars-in-content",
	"glm47-call-inside-reasoning-nonstream",
	"harmony-header-with-foreign-script-beside-call",
	"harmony-stripped-header-in-content",
	"minimax-m2-invoke-block-as-text",
	"minimax-m3-sentinel-in-content",
	"sglang-jax-required-json-array-as-content",
	"sglang-kimi-nonstandard-ids-block-in-content",
	"sglang-multilora-cudagraph-exclamation-run",
	"sglang-qwen-truncated-end-tag-in-value",
	"trtllm-eagle3-call-vanishes",
	"verbatim-loop-inside-valid-argument",
	"vllm-dsv4-concurrency-template-token-and-unbalanced-tag",
	"vllm-dsv4-dspark-cross-script-glued-tokens",
	"vllm-gemma4-quote-tokens-in-value",
	"vllm-kimik26-exclamation-run-in-reasoning",
	"vllm-kimik3-message-terminator-leak",
	"vllm-llama4-python-start-tokens",
}

// textKinds are the kinds that are not judged yet.
var textKinds = []string{
	"markup_leak_content", "markup_leak_reasoning", "markup_leak_args", "call_in_text", "special_token_leak", "garbled_text",
	"replacement_char", "token_repetition", "foreign_content", "empty_turn",
}

// told are the kinds of a verdict, its reason being one.
func told(v Verdict) []string {
	var out []string
	for _, f := range v.Findings {
		out = append(out, string(f.Kind))
	}
	if v.Reason != "" {
		out = append(out, string(v.Reason))
	}
	return out
}

func TestCases(t *testing.T) {
	var later []string
	for _, tc := range loadCases(t) {
		v := tc.judge(t, Complete, tc.pieces(t))
		if tc.Expect.Verdict == Corrupted && slices.Contains(textKinds, tc.Expect.Kinds[0]) {
			if !right(&tc, v) {
				later = append(later, tc.ID)
			}
			continue
		}
		if !right(&tc, v) {
			t.Errorf("%s: got %s %v, want %s %v", tc.ID, v.Outcome, told(v), tc.Expect.Verdict, tc.Expect.Kinds)
		}
		for _, l := range tc.Expect.Lints {
			if !slices.Contains(v.Lints, Lint(l)) && !slices.Contains([]string{"reasoning_in_content", "markup_leak_content"}, l) {
				t.Errorf("%s: got lints %v, want %s too", tc.ID, v.Lints, l)
			}
		}
	}
	if !slices.Equal(later, notYet) {
		t.Errorf("not yet judged:\n%s\nwant:\n%s", strings.Join(later, "\n"), strings.Join(notYet, "\n"))
	}
}

// right reports whether a verdict is one of those expected, and one of its
// kinds one of those expected.
func right(tc *turnCase, v Verdict) bool {
	e := &tc.Expect
	if v.Outcome != e.Verdict && !slices.Contains(e.AcceptVerdicts, v.Outcome) {
		return false
	}
	return v.Outcome == Clean || len(e.Kinds) == 0 || slices.ContainsFunc(told(v), func(k string) bool { return slices.Contains(e.Kinds, k) })
}
