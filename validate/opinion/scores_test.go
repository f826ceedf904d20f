package opinion

import (
	"strings"
	"testing"
)

// answer is one of SGLang's /generate, asked from token 1 of [5 6 7 8], the output being 7 8.
const answer = `{"text":"","meta_info":{"id":"x","finish_reason":{"type":"length","length":0},"prompt_tokens":4,"completion_tokens":0,"cached_tokens":1,
"input_token_logprobs":[[null,6,"b"],[-0.1,7,"c"],[-12.5,8,"d"]],
"input_top_logprobs":[null,[[-0.1,7,"c"],[-3,9,"e"]],[[-0.0001,9,"e"],[-11,7,null]]],
"output_token_logprobs":[],"output_top_logprobs":[],"e2e_latency":0.01}}`

var asked = Asked{IDs: []int{5, 6, 7, 8}, Start: 1, From: 2}

func TestScoresAreRead(t *testing.T) {
	s, err := ReadScores([]byte(answer), asked)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Places) != 2 || s.Cached != 1 || s.Places[0].ID != 7 || s.Places[1].LogProb != -12.5 || s.Places[1].Top[0].Text != "e" || s.Places[1].Top[1].Told {
		t.Errorf("got %+v", s)
	}
}

func TestScoresThatCannotBeTrueAreRefused(t *testing.T) {
	f := func(old, new, want string) {
		t.Helper()
		if !strings.Contains(answer, old) {
			t.Fatalf("no %q in the answer", old)
		}
		if _, err := ReadScores([]byte(strings.Replace(answer, old, new, 1)), asked); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s for %s: got %v, want %q", new, old, err, want)
		}
	}
	f(`[-0.1,7,"c"],[-12.5`, `[-0.1,9,"c"],[-12.5`, "another token at 2")
	f(`[null,6,"b"],`, ``, "of 2 tokens")
	f(`[null,[[-0.1`, `[[[-0.1`, "of 2, where 3")
	f(`"prompt_tokens":4`, `"prompt_tokens":3`, "counts 3")
	f(`[-12.5,8,"d"]`, `[null,8,"d"]`, "no probability")
	f(`-12.5`, `NaN`, "read the scores")
	f(`-12.5`, `3`, "no probability")
	f(`-12.5`, `-1e300`, "no probability")
	f(`-12.5`, `-5`, "more probable than the most probable")
	f(`[-11,7,null]`, `[-11,9,null]`, "told twice")
	f(`[-11,7,null]`, `[null,7,null]`, "without a probability")
	f(`[-3,9,"e"]`, `[-0.05,9,"e"]`, "out of order")
	f(`[-3,9,"e"]`, `[-0.1,9,"e"]`, "more than 1")
	f(`[[-0.1,7,"c"],[-3,9,"e"]]`, `[[-0.2,7,"c"],[-3,9,"e"]]`, "two probabilities")
	f(`[[-0.1,7,"c"],[-3,9,"e"]]`, `[]`, "no alternatives")
	f(`[-12.5,8,"d"]`, `[-12.5,"8","d"]`, "read the scores")
	f(`[-12.5,8,"d"]`, `[-12.5]`, "read the scores")
	f(`{"text"`, `<{"text"`, "read the scores")
}

// FuzzScores: whatever a server answers, it is refused or judged, and what is called the
// server's is absurd by the numbers.
func FuzzScores(f *testing.F) {
	f.Add([]byte(answer), 0.0, 1.0, false)
	f.Add([]byte(strings.ReplaceAll(answer, "-12.5", "-40")), 0.7, 0.95, true)
	f.Fuzz(func(t *testing.T, body []byte, temperature, topP float64, constrained bool) {
		s, err := ReadScores(body, asked)
		if err != nil {
			return
		}
		got := Judge(s.Places, Sampling{Temperature: min(max(temperature, 0), 2), TopP: topP}, constrained)
		switch {
		case len(s.Places) != 2:
			t.Fatalf("%d places were read of 2", len(s.Places))
		case got.Word == Server && (constrained || got.AlternativeP < certain || got.P > 0.01 || got.Onset < 0):
			t.Fatalf("got %+v", got)
		case (got.Word == Unknown) != (got.Reason != ""):
			t.Fatalf("got %+v", got)
		}
	})
}
