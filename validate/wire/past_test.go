package wire

import (
	"reflect"
	"strings"
	"testing"
)

// notes is a memory without bounds.
type notes struct {
	passages map[uint64]Passage
	lists    map[string]bool // lists of tools, and whether some are no functions
	hits     int
}

func newNotes() *notes { return &notes{passages: map[uint64]Passage{}, lists: map[string]bool{}} }

func (n *notes) Get(key uint64) (p Passage, ok bool) {
	if p, ok = n.passages[key]; ok {
		n.hits++
	}
	return p, ok
}

func (n *notes) Put(key uint64, p Passage) { n.passages[key] = p }

func (n *notes) Listed(text []byte) (int, bool) {
	for l, others := range n.lists {
		if strings.HasPrefix(string(text), l) {
			return len(l), others
		}
	}
	return 0, false
}

// remembered reads a request with a memory that it is put into.
func (n *notes) remembered(as Dialect, body string) (*Request, error) {
	r := new(Request)
	err := r.Decode(as, []byte(body), Past{testSeed, n})
	if at := r.ToolsAt; err == nil && at.To > at.From && !r.Known {
		n.lists[body[at.From:at.To]] = r.Others
	}
	return r, err
}

// sameAnew checks that a request comes to the same with a memory as without.
func (n *notes) sameAnew(t testing.TB, as Dialect, body string) {
	t.Helper()
	got, err := n.remembered(as, body)
	want, wantErr := decodeRequest(as, []byte(body))
	if !reflect.DeepEqual(err, wantErr) {
		t.Fatalf("%q: got %v, want %v", body, err, wantErr)
	}
	if err != nil {
		return
	}
	talk, err := Converse(testSeed, []byte(body))
	if err != nil || len(talk.Turns)+len(got.Talk.Turns) > 0 && !reflect.DeepEqual(got.Talk.Turns, talk.Turns) {
		t.Fatalf("%q: got %+v, want %+v, %v", body, got.Talk, talk, err)
	}
	if got.Talk.Turns, talk.Turns = nil, nil; !reflect.DeepEqual(&got.Talk, talk) {
		t.Fatalf("%q: got %+v, want %+v", body, got.Talk, talk)
	}
	if got.Talk = want.Talk; got.Known {
		got.Tools, got.Known = want.Tools, false
	}
	for i := range want.Ends {
		want.Ends[i].Key = got.Ends[i].Key
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: got\n%+v\nwant\n%+v", body, got, want)
	}
}

// turns are the requests of conversations that go on, fork and repeat.
var turns = []string{
	`{"model":"m","messages":[{"role":"system","content":"s"}, {"role":"user","content":"Answer in JSON."}],"tools":[{"type":"function","function":{"name":"f"}},{"type":"x"}],"session_id":"a"}`,
	`{"model":"m","messages":[{"role":"system","content":"s"}, {"role":"user","content":"Answer in JSON."},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"a\": 1}"}}]}, {"role":"tool","tool_call_id":"c1","content":"\u00e9"}],"tools":[{"type":"function","function":{"name":"f"}},{"type":"x"}],"session_id":"a"}`,
	`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"Answer."} , "x",7,[{"a":1}],{"role":"user","content":"JSON"}]}`,
	`{"messages":[{"role":"user","content":[{"type":"tool_use","id":"c2","name":"f","input":{}}]},{"type":"reasoning"}],"system":"y","previous_response_id":"r","metadata":{"user_id":"session-1"},"tools":[],"functions":[{"name":"g"}]}`,
	`{"messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f"}},{"type":"x"}],"tools":[{"type":"function","function":{"name":"h"}}]}`,
	`{"tools":[{"type":"function","function":{"name":"f"}},{"type":"x"}],"functions":[{"name":"g"}],"messages":{"role":"user"},"messages":[{"role":"user","content":"q"}],"messages":"x","input":[{"type":"function_call","call_id":"c3"}]}`,
	`{"instructions":"z","input":"hello","conversation":{"id":"d"},"messages":[{"role":"user","content":"q"}`,
}

func TestRequestIsTheSameFromMemory(t *testing.T) {
	for _, as := range []Dialect{Chat, Responses, Messages} {
		n := newNotes()
		for range 3 {
			for _, body := range turns {
				n.sameAnew(t, as, body)
			}
		}
		if n.hits == 0 {
			t.Errorf("%v: no message was known again", as)
		}
	}
}

// TestKeysTellMessagesApart by all that stands up to them.
func TestKeysTellMessagesApart(t *testing.T) {
	f := func(a, b string, same bool) {
		t.Helper()
		n := newNotes()
		var keys [2]uint64
		for i, list := range []string{a, b} {
			r, err := n.remembered(Chat, `{"messages":`+list+`}`)
			if err != nil {
				t.Fatal(err)
			}
			keys[i] = r.Ends[len(r.Ends)-1].Key
		}
		if (keys[0] == keys[1]) != same {
			t.Errorf("%s and %s: got %x, want them to be the same: %v", a, b, keys, same)
		}
	}
	f(`[{"a":1},{"b":1}]`, `[{"a":1},{"b":1} ]`, true)
	f(`[{"a":1},{"b":1}]`, `[{"a":1}, {"b":1}]`, false)
	f(`[{"a":1},{"b":1}]`, `[{"a":2},{"b":1}]`, false)
	f(`[{"a":1},{"b":1}]`, `[{"a":1},{"b":2}]`, false)
	f(`[{"a":1},{"b":1}]`, `[{"b":1}]`, false)
	f(`[{"a":1},7,{"b":1}]`, `[{"a":1},8,{"b":1}]`, false)
	f(`["a",{"b":1}]`, `["c",{"b":1}]`, false)
}

// FuzzPast reads a request after another one, and once more.
func FuzzPast(f *testing.F) {
	for i := range turns {
		f.Add(turns[i], turns[(i+1)%len(turns)])
	}
	f.Fuzz(func(t *testing.T, before, body string) {
		n := newNotes()
		n.remembered(Chat, before)
		n.sameAnew(t, Chat, body)
		n.sameAnew(t, Chat, body)
	})
}
