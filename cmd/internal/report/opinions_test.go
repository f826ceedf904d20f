package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// opinionsOf is a journal with so many opinions of each word on flagged turns and on clean ones.
func opinionsOf(flagged, control map[string]int) string {
	var b bytes.Buffer
	n := 0
	add := func(of turn.Sample, words map[string]int) {
		for _, word := range []string{"server", "model", "unknown"} {
			for range words[word] {
				n++
				o := turn.Opinion{V: 1, ID: fmt.Sprint("t", n), Time: began.Add(time.Duration(n) * time.Second), Model: "m", Of: of, Word: word, By: "scores",
					Onset: -1, Place: turn.PlaceUnknown, Cache: "none"}
				switch word {
				case "server":
					o.Onset, o.LogProb, o.Alternative, o.Place = 7, -20, -0.001, turn.PlaceAt
				case "unknown":
					o.Reason = "busy"
				}
				b.Write(append(o.AppendJSON(nil), '\n'))
			}
		}
	}
	add(turn.Flagged, flagged)
	add(turn.Drawn, control)
	return b.String()
}

func TestOpinionsAreAddedUp(t *testing.T) {
	text := opinionsOf(map[string]int{"server": 12, "model": 3, "unknown": 2}, map[string]int{"model": 200, "server": 1})
	r := made(t, text+text, Options{}) // read again: counted once
	o := r.Opinions
	if o == nil || o.Flagged.Asked != 17 || o.Flagged.Share.N != 12 || o.Flagged.Share.Of != 15 || o.Control.Share.N != 1 || o.Control.Share.Of != 201 {
		t.Fatalf("got %+v", o)
	}
	if len(o.Reasons) != 1 || o.Reasons[0] != (Count{"busy", 2}) || len(o.Examples) != 13 || math.Abs(o.Examples[0].P-math.Exp(-20)) > 1e-12 || o.Examples[0].Place != "at" {
		t.Errorf("got %+v, %+v", o.Reasons, o.Examples)
	}
	got := printed(t, r)
	for _, want := range []string{"SERVER OR MODEL?", "12/15 = 80.0%", "1/201 = 0.5%", "the server's far more often than clean ones", "2.1e-09", "0.9990", "busy"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestOpinionsSayNoMoreThanTheyMay(t *testing.T) {
	f := func(want string, flagged, control map[string]int) {
		t.Helper()
		if got := printed(t, made(t, opinionsOf(flagged, control), Options{})); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	f("cannot be told from clean ones", map[string]int{"server": 1, "model": 3}, map[string]int{"model": 9})
	f("is not known here", map[string]int{"server": 5}, nil)
	f("Nothing was told of flagged turns", map[string]int{"unknown": 5}, map[string]int{"model": 9})
	f("is the model's own", map[string]int{"model": 40}, map[string]int{"model": 9})
	if r := made(t, opinionsOf(map[string]int{"server": 5}, nil), Options{Model: "another"}); r.Opinions != nil {
		t.Errorf("of another model: got %+v", r.Opinions)
	}
}

func TestProbesAuditTheJudge(t *testing.T) {
	var b bytes.Buffer
	for i := range 100 {
		x := (world{}).turn(newRand(), i, 0, 4)
		x.ID, x.Arm, x.Answer = fmt.Sprint("p", i), turn.Probe, turn.Right
		switch {
		case i < 10:
			x.Answer = turn.Wrong
		case i == 99:
			x.Answer = ""
		}
		if i < 6 {
			corrupt(x)
		} else if i < 9 || i == 50 {
			x.Suspect, x.Signals = true, []validate.Signal{{Kind: validate.EchoNearMiss}}
		}
		b.Write(append(x.AppendJSON(nil), '\n'))
	}
	r := made(t, b.String(), Options{})
	a := r.Audit
	if a == nil || a.Right != 89 || a.Wrong != 10 || a.Unknown != 1 || a.Told.Recall.N != 9 || a.Told.False.N != 1 || a.Found.Recall.N != 6 || a.Found.False.N != 0 {
		t.Fatalf("got %+v", a)
	}
	for _, k := range a.Kinds {
		if k.Kind == string(validate.EchoNearMiss) && (k.Recall.N != 3 || k.Recall.Of != 10 || k.False.Of != 89 || !(k.Recall.Low < 0.3 && 0.3 < k.Recall.High)) {
			t.Errorf("got %+v", k)
		}
	}
	got := printed(t, r)
	for _, want := range []string{"10/99 = 10.1%", "echo_near_miss", "9/10 = 90.0%", "1 answer could not be graded"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	var back struct{ Probes *Audit }
	var out bytes.Buffer
	if err := r.JSON(&out); err != nil || json.Unmarshal(out.Bytes(), &back) != nil || back.Probes == nil || len(back.Probes.Kinds) != len(a.Kinds) {
		t.Errorf("as JSON: got %+v, %v", back.Probes, err)
	}
}

// made is the report on a journal of that text.
func made(t *testing.T, text string, o Options) *Report {
	t.Helper()
	d, err := Read(t.Context(), []string{stdin}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return Make(d, o)
}

// printed is the report as text.
func printed(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
