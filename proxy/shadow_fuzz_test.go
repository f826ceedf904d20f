package proxy

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"turnwatch/validate"
)

// object reads a JSON object; nil if it is none.
func object(body []byte) (o map[string]any) {
	if json.Unmarshal(body, &o) != nil {
		return nil
	}
	return o
}

// FuzzOverride: whatever the body of a request is, the one that an arm gets has the fields
// that were set, and all else as it was; and looking for effects never fails.
func FuzzOverride(f *testing.F) {
	for _, s := range []string{`{}`, ` { } `, `{"model":"m"}`, `{"a":{"model":1},"model":"m","model":"n","seed":null}`, `{"mod\u0065l":1}`, `[1]`, `{"a":"\"model\":1"}`,
		`{"tools":[{"type":"function"}, 3, null],"store":true}`, `{"model":`, ``} {
		f.Add([]byte(s))
	}
	set := map[string]string{"model": `"x"`, "seed": "7"}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages", "/generate"} {
			validate.HasEffects(path, body)
		}
		before, kept := object(body), bytes.Clone(body)
		got := override(body, set)
		if !bytes.Equal(body, kept) {
			t.Fatalf("the live request was changed to %s", body)
		}
		if before == nil {
			return
		}
		before["model"], before["seed"] = "x", 7.0
		if after := object(got); !reflect.DeepEqual(after, before) {
			t.Errorf("of %s: got %s", kept, got)
		}
	})
}
