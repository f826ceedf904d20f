package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"turnwatch/cmd/internal/report"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
	"turnwatch/validate/stats"
)

// pairLine is the line of a pair that both arms answered.
func pairLine(n int, session string, o turn.Outcome) string {
	at := time.Date(2026, 11, 29, 12, 0, n, 0, time.UTC)
	side := func(a turn.Arm, print string) turn.Side {
		return turn.Side{Arm: a, State: turn.Paired, Status: 200, Outcome: validate.Clean, Finish: []string{"stop"}, Tokens: 20, Batch: 8, Print: print}
	}
	p := turn.Pair{V: 1, ID: fmt.Sprint(n), Time: at, Model: "m", Session: session, Ratio: 1,
		Sides: []turn.Side{side(turn.Live, "11111111"), side(turn.Control, "11111111"), side(turn.Candidate, "22222222")},
		Pairs: []turn.Twin{{A: turn.Live, B: turn.Control, Outcome: turn.BothClean, Suspects: turn.BothClean}, {A: turn.Control, B: turn.Candidate, Outcome: o, Suspects: turn.BothClean, FirstDiff: -1}}}
	return string(p.AppendJSON(nil)) + "\n"
}

// journalOf writes a journal of so many pairs of each outcome, each of a session of its own.
func journalOf(t *testing.T, name string, clean, candidate, control int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"v":1,"id":"a turn","verdict":"clean"}` + "\n")
	for i, o := range []struct {
		n int
		o turn.Outcome
	}{{clean, turn.BothClean}, {candidate, turn.Only(turn.Candidate)}, {control, turn.Only(turn.Control)}} {
		for j := range o.n {
			b.WriteString(pairLine(j, fmt.Sprintf("%s-%d-%d", name, i, j), o.o))
		}
	}
	path := filepath.Join(t.TempDir(), name+".jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// call runs the command.
func call(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(context.Background(), args, std{strings.NewReader(""), &o, &e})
	return code, o.String(), e.String()
}

// TestGateExits with 0 to promote, 1 to roll back, 2 when it cannot run, 3 to wait.
func TestGateExits(t *testing.T) {
	same, worse, better, undecided := journalOf(t, "same", 400, 0, 0), journalOf(t, "worse", 50, 9, 0), journalOf(t, "better", 50, 0, 9), journalOf(t, "some", 50, 3, 0)
	none := filepath.Join(t.TempDir(), "none.jsonl")
	if err := os.WriteFile(none, []byte(`{"v":1,"id":"a turn"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(want int, text string, args ...string) {
		t.Helper()
		code, out, errs := call(append([]string{"gate"}, args...)...)
		if code != want || !strings.Contains(out+errs, text) {
			t.Errorf("%v: got %d, %s%s, want %d, %s", args, code, out, errs, want, text)
		}
	}
	f(report.ExitGood, "SHADOW no difference: no difference larger than 2 points after 400 pairs", "-shadow", same)
	f(report.ExitCorrupted, "SHADOW worse: ", "-shadow", worse)
	f(report.ExitGood, "SHADOW better: ", "-shadow", better)
	f(report.ExitUndecided, "SHADOW undecided: undecided after 53 pairs", "-shadow", undecided)
	f(report.ExitUndecided, "no pairs yet", "-shadow", none)
	f(report.ExitUndecided, "no pairs yet", "-shadow", "-fingerprint", "99999999", worse)
	f(report.ExitUndecided, "undecided", "-shadow", "-margin", "0.01", same)
	f(report.ExitCorrupted, `"rollback":true`, "-shadow", "-json", worse)
	f(report.ExitUnable, "say -shadow", worse)
	f(report.ExitUnable, "nothing to read", "-shadow")
	f(report.ExitUnable, "no such file", "-shadow", filepath.Join(t.TempDir(), "absent.jsonl"))
	f(report.ExitGood, "Flags:", "-h")
}

// TestReplicasAddUp: what no journal decides alone, two decide; one session votes once,
// wherever it was seen.
func TestReplicasAddUp(t *testing.T) {
	a, b := journalOf(t, "a", 30, 5, 0), journalOf(t, "b", 30, 5, 0)
	for _, path := range []string{a, b} {
		if code, out, _ := call("gate", "-shadow", path); code != report.ExitUndecided {
			t.Errorf("one alone: got %d, %s", code, out)
		}
	}
	packed := filepath.Join(t.TempDir(), "b.jsonl.gz")
	text, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(text)
	w.Close()
	if err := os.WriteFile(packed, z.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, second := range []string{b, packed} {
		if code, out, errs := call("shadow", a, second); code != report.ExitCorrupted || !strings.Contains(out, "sessions 10 to 0") || !strings.Contains(out, "2 journals") {
			t.Errorf("both: got %d, %s%s, want worse", code, out, errs)
		}
	}
	same := journalOf(t, "a", 30, 5, 0)
	if code, out, _ := call("gate", "-shadow", a, same); code != report.ExitUndecided || !strings.Contains(out, "sessions 5 to 0") {
		t.Errorf("the same sessions twice: got %d, %s, want their votes once", code, out)
	}
}

// TestPrometheusAddsUpToTheSame as the journals that its counts come from.
func TestPrometheusAddsUpToTheSame(t *testing.T) {
	series := func(labels string, n int) string {
		return fmt.Sprintf(`{"metric":{"gen_ai_request_model":"m","turnwatch_arm":"candidate","against":"control","sglang_config_fingerprint":"22222222",%s},"value":[1764417600.1,"%d"]}`, labels, n)
	}
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query().Get("query")
		asked = append(asked, r.URL.Path+" "+q)
		all := []string{series(`"outcome":"both_clean"`, 60), series(`"outcome":"only_candidate"`, 10), series(`"outcome":"unjudged"`, 2)}
		if strings.Contains(q, "votes") {
			all = []string{series(`"worse":"candidate"`, 10), series(`"worse":"control"`, 0)}
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, strings.Join(all, ","))
	}))
	defer srv.Close()
	code, out, errs := call("shadow", "-json", "-prometheus", srv.URL)
	var got, want history
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != report.ExitCorrupted {
		t.Fatalf("got %d, %v, %s%s", code, err, out, errs)
	}
	_, out, _ = call("shadow", "-json", journalOf(t, "a", 30, 5, 0), journalOf(t, "b", 30, 5, 0))
	if err := json.Unmarshal([]byte(out), &want); err != nil {
		t.Fatal(err)
	}
	g, w := got.Current[0].Corrupted, want.Current[0].Corrupted
	if g.Unjudged = 0; g != w || got.Current[0].Word != stats.Worse {
		t.Errorf("got %+v, want %+v", g, w)
	}
	if len(asked) != 2 || !strings.HasPrefix(asked[0], "/api/v1/query sum by ") {
		t.Errorf("asked: %q", asked)
	}
	srv.Close()
	if code, _, errs := call("gate", "-shadow", "-prometheus", srv.URL); code != report.ExitUnable || !strings.Contains(errs, "ask -prometheus") {
		t.Errorf("gone: got %d, %s", code, errs)
	}
}

// TestEventsAreMerged that several replicas notice, and kept apart otherwise.
func TestEventsAreMerged(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var l lines
	for _, s := range []int{0, 2, 60} {
		r := turn.Restart{V: 1, Time: at.Add(time.Duration(s) * time.Second), Arm: turn.Candidate, Why: "it answers again"}
		l.restart(r.AppendJSON(nil))
	}
	c := turn.ConfigChange{V: 1, Time: at, From: "a", To: "b", Changed: []turn.Change{{Tag: "x", From: "1"}}}
	l.change(c.AppendJSON(nil))
	got := l.merged()
	if len(got) != 3 || got[2].Arm != turn.Live || got[2].Text != "the configuration changed from a to b: x 1 → (unknown)" {
		t.Errorf("got %+v", got)
	}
}
