package validate

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
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
	for _, tc := range loadCases(t) {
		v := tc.judge(t, Complete, tc.pieces(t))
		if !right(&tc, v) {
			t.Errorf("%s: got %s %v, want %s %v", tc.ID, v.Outcome, told(v), tc.Expect.Verdict, tc.Expect.Kinds)
		}
		for _, l := range tc.Expect.Lints {
			if !slices.Contains(v.Lints, Lint(l)) && !ordinary[tc.ID] {
				t.Errorf("%s: got lints %v, want %s too", tc.ID, v.Lints, l)
			}
		}
	}
}

// ordinary are the cases whose oddity is what SGLang always does, and so is
// not told.
var ordinary = map[string]bool{"sglang-usage-only-chunk": true, "engine-abort-with-done": true}

// right reports whether a verdict is one of those expected, and one of its
// kinds one of those expected.
func right(tc *turnCase, v Verdict) bool {
	e := &tc.Expect
	if v.Outcome != e.Verdict && !slices.Contains(e.AcceptVerdicts, v.Outcome) {
		return false
	}
	return v.Outcome == Clean || len(e.Kinds) == 0 || slices.ContainsFunc(told(v), func(k string) bool { return slices.Contains(e.Kinds, k) })
}
