package validate

import "testing"

// TestFieldThatIsNamedTwiceMayHaveEffects: JSON readers take the last, and some the first.
func TestFieldThatIsNamedTwiceMayHaveEffects(t *testing.T) {
	f := func(path, body string, want bool) {
		t.Helper()
		if got := HasEffects(path, []byte(body)); got != want {
			t.Errorf("%s %s: got %t, want %t", path, body, got, want)
		}
	}
	f("/v1/chat/completions", `{"store":false}`, false)
	f("/v1/chat/completions", `{"store":false,"store":true}`, true)
	f("/v1/chat/completions", `{"store":null,"st\u006fre":true}`, true)
	f("/v1/chat/completions", `{"tools":null,"store":null}`, false)
	f("/v1/responses", `{"store":false,"store":true}`, true)
	f("/generate", `{"session_params":null,"session_params":{"id":"1"}}`, true)
	f("/v1/messages", `{"tools":[{"type":"custom","name":"f"},{"type":"custom","name":"g"}]}`, false)
	f("/v1/messages", `{"tools":[{"type":"custom","type":"web_search_20250305"}]}`, true)
	f("/v1/messages", `{"tools":[{"type":"custom"}],"tools":[{"type":"web_search_20250305"}]}`, true)
}
