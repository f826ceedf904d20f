package stress

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestScenariosThatComeWithIt(t *testing.T) {
	all, err := Scenarios()
	if err != nil || len(all) < 10 {
		t.Fatalf("%d scenarios, %v", len(all), err)
	}
	for _, s := range all {
		if s.Doc == "" {
			t.Errorf("%s has no doc", s.Name)
		}
	}
}

func TestFlagsWinOverTheScenario(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	text := "doc: mine\nsessions: 7\nconcurrency: [2, 3]\nabort: 30%\nabort-after: 20ms\ncanary: false\nextra: '{\"top_k\": 1}'\ncompanions:\n- {name: churn, concurrency: 4, abort: 1, stream: 50%}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := FindScenario(path)
	if err != nil {
		t.Fatal(err)
	}
	var l Load
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	l.Define(fs)
	if err := fs.Parse([]string{"-sessions", "9"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(&l, fs); err != nil {
		t.Fatal(err)
	}
	if l.Sessions != 9 || len(l.Concurrency) != 2 || l.Concurrency[1] != 3 || l.Abort.Share != 0.3 || l.Abort.After != 20*time.Millisecond || l.Canary || string(l.Extra["top_k"]) != "1" {
		t.Errorf("got %+v", l)
	}
	if c := l.Companions; len(c) != 1 || c[0].Name != "churn" || c[0].Concurrency != 4 || c[0].Abort.Share != 1 || c[0].Streamed != 0.5 || c[0].Turns != 5 {
		t.Errorf("companions %+v", c)
	}
}

func TestScenarioBuildsOnAnother(t *testing.T) {
	s, err := ReadScenario("mine", []byte("scenario: victims\nsessions: 3\ncompanions: [{name: more}]"))
	if err != nil {
		t.Fatal(err)
	}
	var l Load
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	l.Define(fs)
	if err := s.Apply(&l, fs); err != nil || l.Sessions != 3 || l.Concurrency[0] != 6 || len(l.Companions) != 3 {
		t.Errorf("got %+v, %v", l, err)
	}
}

func TestScenariosThatCannotBeRead(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if _, err := ReadScenario("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	f("", "must be a list of settings")
	f("- a", "must be a list of settings")
	f("sessions: [", "scenario x: yaml:")
	f("sesions: 4", `line 1: there is no setting "sesions"`)
	f("doc: a\nsessions: many", "line 2: sessions:")
	f("abort: {a: 1}", "must be a value or a list")
	f("companions: 4", "must be a list")
	f("scenario: no-such", "no scenario and no file")
	f("companions: [{name: a, sessions: 4}]", `there is no setting "sessions"`)
	f("companions: [{name: a, concurrency: 0}]", "at least 1")
	path := filepath.Join(t.TempDir(), "round.yaml")
	if err := os.WriteFile(path, []byte("scenario: "+path), 0o600); err != nil {
		t.Fatal(err)
	}
	f("scenario: "+path, "more than 8 build on one another")
	if _, err := FindScenario("no-such"); err == nil || !strings.Contains(err.Error(), `no scenario and no file "no-such"`) {
		t.Errorf("got %v", err)
	}
}

func TestScenarioIsOneDocument(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := ReadScenario("mine", []byte(text))
		if got := fmt.Sprint(err); !strings.Contains(got, want) || want == "" && err != nil {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	f("sessions: 3\n---\nsessions: 4\n", "scenario mine: line 2 begins another YAML document")
	f("# of mine\n---\nsessions: 3\n---\n\n---\n# more\nturns: 4\n", "line 6 begins another")
	f("sessions: 3\n---\n[\n", "yaml: ")
	f("---\nsessions: 3\n", "")
	f("sessions: 3\n---\n# nothing\n", "")
	f("sessions: 3\n...\n", "")
}
