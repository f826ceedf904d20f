package turn

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"turnwatch/validate"
)

func examplePair() *Pair {
	side := func(arm Arm, o validate.Outcome) Side {
		return Side{Arm: arm, State: Paired, ID: "id-" + string(arm), Status: 200, Ending: validate.Complete, Outcome: o, Suspect: true,
			Finish: []string{"tool_calls"}, Calls: 1, Prompt: 192, Tokens: 17, TTFBMS: 10.25, TokenMS: 2.5, Batch: 7, Print: "1a2b3c4d", Body: "00ff00ff00ff00ff"}
	}
	return &Pair{V: Version, ID: "id-live", Time: time.Date(2026, 11, 29, 19, 25, 37, 741706418, time.UTC), Model: "m", Path: "/v1/chat/completions",
		Stream: true, Session: "s", Number: 3, Ratio: 0.1,
		Sides: []Side{side(Live, validate.Clean), {Arm: Control, State: Dropped, Why: "queue", Finish: []string{}}, side(Candidate, validate.Corrupted)},
		Pairs: []Twin{{A: Live, B: Candidate, Outcome: Only(Candidate), Suspects: Both, Finish: true, Names: true, FirstDiff: 12, Prompt: true}}}
}

// TestPairLine holds the public format.
func TestPairLine(t *testing.T) {
	const want = `{"v":1,"type":"shadow_pair","id":"id-live","time":"2026-11-29T19:25:37.741706418Z","model":"m","path":"/v1/chat/completions",` +
		`"stream":true,"session":"s","turn":3,"ratio":0.1,"sides":[` +
		`{"arm":"live","state":"paired","why":"","id":"id-live","status":200,"ending":"complete","verdict":"clean","suspect":true,"finish_reasons":["tool_calls"],` +
		`"calls":1,"prompt_tokens":192,"completion_tokens":17,"ttfb_ms":10.25,"token_ms":2.5,"batch":7,"fingerprint":"1a2b3c4d","body":"00ff00ff00ff00ff"},` +
		`{"arm":"control","state":"dropped","why":"queue","id":"","status":0,"ending":"","verdict":"","suspect":false,"finish_reasons":[],` +
		`"calls":0,"prompt_tokens":0,"completion_tokens":0,"ttfb_ms":0,"token_ms":0,"batch":0,"fingerprint":"","body":""},` +
		`{"arm":"candidate","state":"paired","why":"","id":"id-candidate","status":200,"ending":"complete","verdict":"corrupted","suspect":true,"finish_reasons":["tool_calls"],` +
		`"calls":1,"prompt_tokens":192,"completion_tokens":17,"ttfb_ms":10.25,"token_ms":2.5,"batch":7,"fingerprint":"1a2b3c4d","body":"00ff00ff00ff00ff"}],` +
		`"pairs":[{"a":"live","b":"candidate","outcome":"only_candidate","suspects":"both","finish":true,"names":true,"args":false,"first_diff":12,"prompt":true}]}`
	if got := string(examplePair().AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPairIsReadBack(t *testing.T) {
	want := examplePair()
	var got Pair
	if err := json.Unmarshal(want.AppendJSON(nil), &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&got, want) {
		t.Errorf("got  %+v\nwant %+v", &got, want)
	}
	if s := got.Side(Control); s == nil || s.Why != "queue" || got.Side(Probe) != nil {
		t.Errorf("sides: got %+v", s)
	}
	if p := got.Twin(Live, Candidate); p == nil || p.FirstDiff != 12 || got.Twin(Control, Candidate) != nil {
		t.Errorf("pairs: got %+v", p)
	}
}

func TestRestartLine(t *testing.T) {
	r := Restart{V: Version, Time: time.Unix(0, 0), Arm: Candidate, Why: "it answers again"}
	if got, want := string(r.AppendJSON(nil)), `{"v":1,"type":"server_restart","time":"1970-01-01T00:00:00Z","arm":"candidate","why":"it answers again"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestChangeOfAnotherArm names it, and the live one's does not.
func TestChangeOfAnotherArm(t *testing.T) {
	c := ConfigChange{V: Version, Time: time.Unix(0, 0), From: "a", To: "b", Turn: "t", Arm: Control}
	if got, want := string(c.AppendJSON(nil)), `{"v":1,"type":"config_change","time":"1970-01-01T00:00:00Z","from":"a","to":"b","turn":"t","changed":{},"arm":"control"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var back ConfigChange
	if err := json.Unmarshal(c.AppendJSON(nil), &back); err != nil || back.Arm != Control {
		t.Errorf("read back: got %+v, %v", back, err)
	}
}
