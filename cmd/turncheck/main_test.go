package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"turnwatch/validate"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"turncheck": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			for name, dir := range map[string]string{"DATA": ".", "CASES": "cases", "SAMPLES": "samples"} {
				path, err := filepath.Abs(filepath.Join("../../validate/testdata", dir))
				if err != nil {
					return err
				}
				e.Setenv(name, path)
			}
			return nil
		},
	})
}

// expected is what a case file says of its turn.
type expected struct {
	ID     string
	Expect struct {
		Verdict        validate.Outcome
		AcceptVerdicts []validate.Outcome `json:"accept_verdicts"`
		Kinds          []string
		Call           *int `json:"call_index"`
	}
}

// judge returns what -json prints for the paths, by id.
func judge(t *testing.T, want int, args ...string) map[string]row {
	t.Helper()
	var out, complaints bytes.Buffer
	if code := run(append([]string{"-json"}, args...), &out, &complaints); code != want || complaints.Len() > 0 {
		t.Fatalf("%v: exit code: got %d, want %d: %s", args, code, want, &complaints)
	}
	rows := map[string]row{}
	for line := range strings.Lines(out.String()) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		rows[r.ID] = r
	}
	return rows
}

// TestEveryCaseIsJudgedRight in verdict, in kind and in the call that is wrong.
func TestEveryCaseIsJudgedRight(t *testing.T) {
	const dir = "../../validate/testdata/cases"
	rows := judge(t, exitCorrupted, dir)
	files, err := filepath.Glob(dir + "/*.json")
	if err != nil || len(files) != len(rows) || len(files) == 0 {
		t.Fatalf("got %d turns of %d files, %v", len(rows), len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		var x expected
		if err == nil {
			err = json.Unmarshal(data, &x)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got, e := rows[x.ID], &x.Expect
		if got.Verdict != e.Verdict && !slices.Contains(e.AcceptVerdicts, got.Verdict) {
			t.Errorf("%s: got %s, want %s", x.ID, got.Verdict, e.Verdict)
			continue
		}
		if got.Verdict == validate.Clean {
			continue
		}
		if !slices.ContainsFunc(got.Kinds, func(k string) bool { return slices.Contains(e.Kinds, k) }) {
			t.Errorf("%s: got %v, want one of %v", x.ID, got.Kinds, e.Kinds)
		}
		if x.ID == "lmstudio-every-fragment-is-a-new-call" {
			continue // a call in six entries: the first has the name, the second the first fault
		}
		if (got.Call == nil) != (e.Call == nil) || got.Call != nil && *got.Call != *e.Call {
			t.Errorf("%s: %v: got another call than that wanted", x.ID, got.Kinds)
		}
	}
}

// TestFolderIsJudgedByItsTurns, whatever else lies in it.
func TestFolderIsJudgedByItsTurns(t *testing.T) {
	var told bytes.Buffer
	if got := run([]string{"../../validate/testdata"}, &bytes.Buffer{}, &told); got != exitCorrupted {
		t.Errorf("exit code: got %d, want %d: %s", got, exitCorrupted, &told)
	}
}
