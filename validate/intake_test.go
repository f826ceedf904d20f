package validate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// cameTo is all that a request comes to, but for its texts.
func cameTo(t testing.TB, r *Request, body string) string {
	t.Helper()
	talk, err := r.Converse(r.seed, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	tools := slices.Sorted(maps.Keys(r.tools))
	for i, name := range tools {
		tools[i] = fmt.Sprintf("%+v", r.tools[name])
	}
	used := r.used("call_9911")
	return fmt.Sprint(r.Model, r.Stream, r.n, r.maxTokens, r.order, r.kept, r.names, tools, r.others, r.none, r.named, r.must, r.json, r.stop, used,
		len(r.ids), len(talk.Turns), talk.Answers, talk.Session, talk.Person, talk.After != 0)
}

// TestRequestIsTheSameFromMemory, and so is its conversation.
func TestRequestIsTheSameFromMemory(t *testing.T) {
	s := NewSchemas(1 << 20)
	all := append(talks(), `{"messages":[{"role":"user","content":"q"}],"tools":[{"name":"f"},{"type":"x","name":"y"}],"session_id":"a"}`)
	for i := range 2 * len(all) {
		body := all[i%len(all)]
		for _, path := range []string{"/v1/chat/completions", "/v1/messages"} {
			anew, err := ParseRequest(path, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.ParseRequest(path, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := cameTo(t, r, body), cameTo(t, anew, body); got != want {
				t.Errorf("%.80s…: from memory\n%s, anew\n%s", body, got, want)
			}
			got, _ := r.Converse(s.Seed(), []byte(body))
			if want, _ := new(Request).Converse(s.Seed(), []byte(body)); !reflect.DeepEqual(got, want) && len(want.Turns) > 0 {
				t.Errorf("%.80s…: got the conversation %+v, want %+v", body, got, want)
			}
		}
	}
}

// TestConversationCountsAsHeld: a request keeps what it repeats of the conversation.
func TestConversationCountsAsHeld(t *testing.T) {
	const n = 1000
	body := `{"messages":[` + strings.Repeat(`{"role":"user"},`, n-1) + `{"role":"user"}]}`
	r, err := NewSchemas(1<<20).ParseRequest("/v1/chat/completions", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	without := *r
	without.talk = Conversation{}
	if got, want := r.Held()-without.Held(), n*int(unsafe.Sizeof(Message{})); got != want {
		t.Errorf("got %d bytes of %d messages, want %d", got, n, want)
	}
}
