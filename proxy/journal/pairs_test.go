package journal

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"turnwatch/proxy/turn"
)

// TestPairsOfThePastAreReadBack, of rotated files, too, and without what is written later.
func TestPairsOfThePastAreReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "turns.jsonl")
	w, err := Open(path, Options{MaxSize: 2 << 10, MaxTotal: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	const n = 30
	for i := range n {
		w.Finish(&turn.Turn{V: 1, ID: "a turn"})
		w.Pair(&turn.Pair{V: 1, ID: "p", Number: i + 1, Sides: []turn.Side{{Arm: turn.Candidate, State: turn.Failed, Why: "connect"}}})
		w.Restart(&turn.Restart{V: 1, Arm: turn.Candidate})
	}
	if err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	past, err := OpenPast(path)
	if err != nil {
		t.Fatal(err)
	}
	defer past.Close()
	more, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	more.WriteString(`{"v":1,"type":"shadow_pair","id":"late"}` + "\n")
	more.Close()
	got := 0
	for p, err := range Pairs(past) {
		if got++; err != nil || p.ID != "p" || p.Number != got || p.Side(turn.Candidate).Why != "connect" {
			t.Fatalf("pair %d: got %+v, %v", got, p, err)
		}
	}
	if files, _ := Files(path); got != n || len(files) < 3 {
		t.Errorf("got %d pairs of %d files, want %d of several", got, len(files), n)
	}
}

func TestPairsPassOverAllElse(t *testing.T) {
	lines := `{"v":1,"id":"x","type":"other","note":"\"shadow_pair\""}` + "\n" + `{"v":1,"type":"shadow_pair","id":"torn` + "\n" +
		`{"v":99,"type":"shadow_pair","id":"later"}` + "\n\n" + `{"v":1,"type":"shadow_pair","id":"good"}` + "\n"
	var ids []string
	for p := range Pairs(strings.NewReader(lines)) {
		ids = append(ids, p.ID)
	}
	if len(ids) != 1 || ids[0] != "good" {
		t.Errorf("got %v, want good alone", ids)
	}
}

func TestNoPastIsNoError(t *testing.T) {
	p, err := OpenPast(filepath.Join(t.TempDir(), "none.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range Pairs(p) {
		t.Error("got a pair of nothing")
	}
}
