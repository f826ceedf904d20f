package validate

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// golden are calls with what K2-Vendor-Verifier says of them.
type golden struct {
	Tools json.RawMessage `json:"tools"`
	Cases []struct {
		Case  string          `json:"case"`
		Call  json.RawMessage `json:"tool_call"`
		Valid bool            `json:"k2vv_valid"`
	} `json:"cases"`
}

func loadGolden(t *testing.T) (g golden) {
	t.Helper()
	b, err := os.ReadFile("testdata/k2vv.json")
	if err == nil {
		err = json.Unmarshal(b, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// wholly judges an answer that does not stream.
func wholly(t *testing.T, request, answer string) Verdict {
	t.Helper()
	r, err := ParseRequest("/v1/chat/completions", []byte(request))
	if err != nil {
		t.Fatal(err)
	}
	c := NewChecker(r, Head{Status: 200, ContentType: "application/json"})
	c.Feed(0, []byte(answer))
	return c.Finish(Complete)
}

func TestK2VVAgrees(t *testing.T) {
	g := loadGolden(t)
	if len(g.Cases) != 33 {
		t.Fatalf("%d cases, want 33", len(g.Cases))
	}
	for _, tc := range g.Cases {
		request := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":%s}`, g.Tools)
		v := wholly(t, request, fmt.Sprintf(`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[%s]},"finish_reason":"tool_calls"}]}`, tc.Call))
		want := VendorInvalid
		if tc.Valid {
			want = VendorValid
		}
		if v.Vendor == nil || v.Vendor.K2VV != want {
			t.Errorf("%s: %s: got %+v, want %s (%s)", tc.Case, tc.Call, v.Vendor, want, v.Outcome)
		}
	}
}

// streamed judges a stream of deltas of the first choice.
func streamed(t *testing.T, request string, deltas ...string) Verdict {
	t.Helper()
	r, err := ParseRequest("/v1/chat/completions", []byte(request))
	if err != nil {
		t.Fatal(err)
	}
	c := NewChecker(r, Head{Status: 200, ContentType: "text/event-stream"})
	for _, d := range deltas {
		c.Feed(0, []byte(`data: {"choices":[{"index":0,`+d+"}]}\n\n"))
	}
	c.Feed(0, []byte("data: [DONE]\n\n"))
	return c.Finish(Complete)
}

func TestVendorsFoldByIndex(t *testing.T) {
	const request = `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}],"tools":[` +
		`{"type":"function","function":{"name":"get","parameters":{"type":"object","required":["a"]}}},` +
		`{"type":"function","function":{"name":"any","parameters":{}}},{"type":"function","function":{"name":"bare"}}]}`
	f := func(what string, want Vendor, deltas ...string) {
		t.Helper()
		v := streamed(t, request, deltas...)
		got := Vendor{}
		if v.Vendor != nil {
			got = *v.Vendor
		}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", what, got, want)
		}
	}
	call := func(index, name, args string) string {
		return fmt.Sprintf(`"delta":{"tool_calls":[{%s"id":"c%s%d","type":"function","function":{"name":"%s","arguments":%q}}]}`, index, name, len(args), name, args)
	}
	const done, stop = `"delta":{},"finish_reason":"tool_calls"`, `"delta":{},"finish_reason":"stop"`
	f("a good call", Vendor{K2VV: VendorValid, OpenRouter: VendorOK}, call(`"index":0,`, "get", `{"a":1}`), done)
	f("a call under stop", Vendor{OpenRouter: VendorOK}, call(`"index":0,`, "get", `{"a":1}`), stop)
	f("tool_calls, then stop", Vendor{OpenRouter: VendorOK}, call(`"index":0,`, "get", `{"a":1}`), done, stop)
	f("no call", Vendor{K2VV: VendorNoCall}, done)
	f("two calls", Vendor{K2VV: VendorValid, OpenRouter: VendorOK}, call(`"index":0,`, "get", `{"a":1}`), call(`"index":1,`, "get", `{"a":2}`), done)
	f("two without index are glued", Vendor{K2VV: VendorInvalid, OpenRouter: VendorJSON}, call("", "get", `{"a":1}`), call("", "get", `{"a":2}`), done)
	f("missing", Vendor{K2VV: VendorInvalid, OpenRouter: VendorSchema}, call(`"index":0,`, "get", `{}`), done)
	f("one of two", Vendor{K2VV: VendorInvalid, OpenRouter: VendorName}, call(`"index":0,`, "get", `{"a":1}`), call(`"index":1,`, "not", `{}`), done)
	f("NaN is JSON to Python alone", Vendor{K2VV: VendorValid, OpenRouter: VendorJSON}, call(`"index":0,`, "get", `{"a":NaN}`), done)
	f("no schema", Vendor{K2VV: VendorInvalid, OpenRouter: VendorOK}, call(`"index":0,`, "any", `{"z":1}`), done)
	f("no parameters", Vendor{K2VV: VendorInvalid, OpenRouter: VendorOK}, call(`"index":0,`, "bare", `{}`), done)
	f("text", Vendor{}, `"delta":{"content":"Hello"}`, stop)
	f("Cyrillic", Vendor{Cyrillic: true}, `"delta":{"content":"Hello приве"}`, `"delta":{"content":"т"}`, stop)
	f("only reasoning", Vendor{OnlyReasoning: true}, `"delta":{"reasoning_content":"Let me think."}`, stop)
	f("reasoning and text", Vendor{}, `"delta":{"reasoning_content":"Let me think."}`, `"delta":{"content":"So."}`, stop)
}

func TestPythonReadsNumbersThatAreNone(t *testing.T) {
	f := func(in string, ok bool) {
		t.Helper()
		if parsed, loose := object([]byte(in)); (loose != nil) != ok || parsed != nil && loose == nil {
			t.Errorf("%s: got %s and %s, want %v", in, parsed, loose, ok)
		}
	}
	for _, in := range []string{`{"a":NaN}`, `[Infinity,-Infinity]`, `{"NaN":"Infinity \" NaN"}`, "NaN", `{"a":1,"a":2}`} {
		f(in, true)
	}
	for _, in := range []string{`{NaN:1}`, "-NaN", "1NaN", "NaN1", "Infinity1", "xInfinity", `{"a":1`, "", "\ufeff{}", `{} x`} {
		f(in, false)
	}
}
