package validate

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sample reads a raw answer of a server: its head, its body, and whether the
// body was cut.
func sample(t testing.TB, file string) (Head, []byte, Ending) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	body, err := io.ReadAll(resp.Body)
	how := Complete
	if err != nil {
		how = ServerCut
	}
	return Head{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type")}, body, how
}

// sampleRequest is a request that all samples may answer.
const sampleRequest = `{"model":"m","tools":[{"type":"function","function":{"name":"get_weather",
	"parameters":{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string"}},"required":["city"]}}},
	{"type":"function","function":{"name":"run","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}]}`

// samplesRequest is the request that a sample answers.
func samplesRequest(name string) (*Request, error) {
	if strings.HasPrefix(name, "anthropic_") {
		return ParseRequest("/v1/messages", []byte(`{"model":"m","max_tokens":1000,"tools":[{"name":"get_weather",
			"input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]}`))
	}
	return ParseRequest("/v1/chat/completions", []byte(sampleRequest))
}

// samples says what is to be told of each file of testdata/samples.
//
// Two of those called good are none on the wire. The engine behind them cut
// its text at every six characters, through the marks by which the parsers of
// gpt-oss and Kimi tell where a call begins and ends, which a model says as one
// token each: the one leaves the whole call in the content and finishes with
// stop, the other ends the arguments with <|tool_call_en. A client has no call
// there, and no JSON here, whoever is to blame. Nothing in these bytes tells them
// from what a server makes of a damaged token, so that neither clean nor the
// parser as a known cause could be said without missing that. The same parsers
// given whole marks, as models say them, are the good_whole ones.
var samples = map[string]string{
	"abort_503_stream":                  "truncated truncated_error",
	"abort_graceful_stream":             "truncated truncated_abort",
	"anthropic_good_nonstream":          "clean",
	"anthropic_good_stream":             "clean",
	"first_event_error_stream":          "unverified upstream_error upstream_error",
	"glm45_good_stream":                 "clean",
	"gptoss_good_stream":                "corrupted markup_leak_content",
	"gptoss_good_whole_nonstream":       "clean",
	"gptoss_good_whole_stream":          "clean",
	"kimi_k2_good_stream":               "corrupted markup_leak_args args_trailing_data args_json_invalid",
	"kimi_k2_good_whole_nonstream":      "clean",
	"kimi_k2_good_whole_stream":         "clean",
	"midstream_crash_stream":            "truncated truncated_stream_cut",
	"midstream_error_stream":            "truncated truncated_error",
	"mistral_two_calls_nonstream":       "clean",
	"mistral_two_calls_stream":          "corrupted call_in_text",
	"plain_text_nonstream":              "clean",
	"plain_text_stream":                 "clean",
	"qwen25_good_stream":                "clean",
	"qwen3_coder_midcut_badjson_stream": "corrupted args_empty",
	"v4_asciipipe_leak_nonstream":       "corrupted markup_leak_content",
	"v4_asciipipe_leak_stream":          "corrupted markup_leak_content",
	"v4_good_nonstream":                 "clean",
	"v4_good_stream":                    "clean",
	"v4_good_stream_nousage":            "clean",
	"v4_swallowed_nonstream":            "corrupted swallowed_text",
	"v4_swallowed_stream":               "corrupted swallowed_text",
	"v4_think_good_nonstream":           "clean",
	"v4_think_good_stream":              "clean",
	"v4_truncated_nonstream":            "truncated truncated_length",
	"v4_truncated_repaired_stream":      "truncated truncated_length",
	"v4_two_calls_stream":               "clean",
	"v4_unknown_name_nonstream":         "corrupted swallowed_text",
	"v4_unknown_name_stream":            "corrupted tool_name_malformed unknown_tool",
	"v4_v41_spaced_swallow_stream":      "corrupted swallowed_text",
	"v4_wrong_section_stream":           "corrupted markup_leak_content",
}

func TestSamples(t *testing.T) {
	files, _ := filepath.Glob("testdata/samples/*.http")
	if len(files) != len(samples) {
		t.Errorf("got %d samples, want %d", len(files), len(samples))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".http")
		head, body, how := sample(t, file)
		req, err := samplesRequest(name)
		if err != nil {
			t.Fatal(err)
		}
		c := NewChecker(req, head)
		c.Feed(0, body)
		v := c.Finish(how)
		got := strings.Join(append([]string{string(v.Outcome)}, told(v)...), " ")
		if got != samples[name] {
			t.Errorf("%s: got %s, want %s", name, got, samples[name])
		}
		if known := name == "mistral_two_calls_stream"; known && v.Findings[0].Cause != CauseParser {
			t.Errorf("%s: got %+v, want the parser as its cause", name, v.Findings[0])
		}
		if repaired := name == "v4_truncated_repaired_stream"; repaired != v.Suspect {
			t.Errorf("%s: got suspect %v, want %v", name, v.Suspect, repaired)
		}
		if strings.Contains(name, "good") && slices.Contains(v.Lints, LintMissingDone) {
			t.Errorf("%s: got lints %v", name, v.Lints)
		}
	}
}
