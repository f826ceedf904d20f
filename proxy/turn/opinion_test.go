package turn

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"
)

func opinionLine() *Opinion {
	return &Opinion{V: 1, ID: "x", Time: time.Unix(1, 0).UTC(), Model: "m", Session: "s", Number: 3, Outcome: "corrupted", Of: Flagged, Word: "server",
		By: "scores", Server: "live", Tokens: 9, Onset: 4, LogProb: -21.5, Alternative: -0.0001, Place: PlaceAt, Cache: "none", TookMS: 12.5}
}

func TestOpinionsLine(t *testing.T) {
	want := `{"v":1,"type":"opinion","id":"x","time":"1970-01-01T00:00:01Z","model":"m","session":"s","turn":3,"verdict":"corrupted","suspect":false,` +
		`"of":"flagged","word":"server","reason":"","by":"scores","server":"live","tokens":9,"onset":4,"logprob":-21.5,"alternative":-0.0001,` +
		`"place":"at","start":0,"cached":0,"cache":"none","replays":0,"took_ms":12.5}`
	if got := string(opinionLine().AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOpinionsLineIsReadBack(t *testing.T) {
	o := opinionLine()
	o.Token, o.Instead = &Piece{7, "4\""}, &Piece{8, "7"}
	var back Opinion
	if err := json.Unmarshal(o.AppendJSON(nil), &back); err != nil || !reflect.DeepEqual(*o, back) {
		t.Errorf("got %+v, %v, want %+v", back, err, *o)
	}
	o.LogProb = math.Inf(-1)
	if err := json.Unmarshal(o.AppendJSON(nil), &back); err != nil || back.LogProb != 0 {
		t.Errorf("an infinite logarithm: got %v, %v, want 0", back.LogProb, err)
	}
}
