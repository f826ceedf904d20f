package report

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"turnwatch/proxy/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m, leaktest.Sweeper) }

// lines returns the journal of a world.
func (w world) lines() string {
	var b bytes.Buffer
	w.write(&b) // a buffer takes everything
	return b.String()
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func pack(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

func read(t *testing.T, in string, paths ...string) *Data {
	t.Helper()
	d, err := Read(context.Background(), paths, strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A journal may be rotated, compressed, one of many, or come from a pipe.
func TestJournalsOfEveryForm(t *testing.T) {
	dir := t.TempDir()
	w := func(seed uint64) string { return world{seed: seed, sessions: 4}.lines() }
	put(t, filepath.Join(dir, "a-20260301T120000.000000000Z.jsonl"), w(1))
	put(t, filepath.Join(dir, "a.jsonl"), w(2))
	put(t, filepath.Join(dir, "b.jsonl.gz"), pack(w(3)))
	f := func(in string, turns, replicas int, paths ...string) {
		t.Helper()
		d := read(t, in, paths...)
		if d.Turns() != turns || d.Source.Replicas != replicas || d.Source.Bad != 0 {
			t.Errorf("%v: got %d turns of %d sidecars, %d bad lines; want %d of %d", paths, d.Turns(), d.Source.Replicas, d.Source.Bad, turns, replicas)
		}
	}
	f("", 40, 1, filepath.Join(dir, "a.jsonl"))
	f("", 60, 2, dir)
	f("", 20, 1, filepath.Join(dir, "b.jsonl.gz"))
	f(w(4), 20, 1, "-")
	f(pack(w(4)), 20, 1, "-")
	f("", 60, 2, filepath.Join(dir, "a.jsonl"), dir)
	f("", 0, 0, "-")
}

func TestPathsThatNameNothing(t *testing.T) {
	f := func(path, want string) {
		t.Helper()
		if _, err := Read(context.Background(), []string{path}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	f(filepath.Join(t.TempDir(), "none.jsonl"), "no such file")
	f(t.TempDir(), "ends in .jsonl")
}

// What cannot be read is counted and located, and the rest used.
func TestBadLinesAreLocated(t *testing.T) {
	good := strings.SplitAfter(world{seed: 1, sessions: 2}.lines(), "\n")
	d := read(t, good[0]+
		"not json\n"+
		good[1][:100]+"\n"+
		`{"v":99,"id":7}`+"\n"+
		"\n"+
		`{"type":"shadow_pair","v":1}`+"\n"+
		`{"v":1,"type":"from_the_future"}`+"\n"+
		strings.Repeat("x", 2<<20)+"\n"+
		"\xff\xfe\x00\n"+
		good[2]+
		good[3][:50], "-")
	if d.Turns() != 2 || d.Source.Bad != 6 || d.Source.Other["shadow_pair"] != 1 || d.Source.Other["from_the_future"] != 1 {
		t.Errorf("got %d turns, %+v", d.Turns(), d.Source)
	}
	var at []int
	for _, f := range d.Source.Faults {
		at = append(at, f.Line)
	}
	if want := []int{2, 3, 4, 8, 9, 11}; !slices.Equal(at, want) {
		t.Errorf("faults at lines %v, want %v", at, want)
	}
	if got := d.Source.Faults[1].Offset; got != int64(len(good[0])+len("not json\n")) {
		t.Errorf("the torn line is at byte %d", got)
	}
	r := Make(d, Options{})
	if r.Exit() != ExitGood {
		t.Errorf("exit %d, want 0: two turns were read and are clean", r.Exit())
	}
	var b strings.Builder
	if err := r.Text(&b); err != nil || !strings.Contains(b.String(), "line 3 (byte ") {
		t.Errorf("%v in\n%s", err, &b)
	}
}

// Who reads a fault knows JSON, and not how this program stores it.
func TestFaultsAreToldInWordsOfJSON(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		d := read(t, line+"\n", "-")
		if len(d.Source.Faults) != 1 || d.Source.Faults[0].Err != want {
			t.Errorf("%s: got %v, want %q", line, d.Source.Faults, want)
		}
	}
	f(`[]`, "no turn: it is no object but a JSON array")
	f(`1`, "no turn: it is no object but a JSON number")
	f(`{"v":"1"}`, "no turn: v cannot be a JSON string")
	f(`{"v":1,"usage":{"prompt_tokens":[]}}`, "no turn: usage.prompt_tokens cannot be a JSON array")
	f(`{}`, "no turn: it has no version v")
}

func TestUnreadableInputIsNoGoodReport(t *testing.T) {
	f := func(in string, want int) {
		t.Helper()
		if got := Make(read(t, in, "-"), Options{}).Exit(); got != want {
			t.Errorf("%.20q: exit %d, want %d", in, got, want)
		}
	}
	f("", ExitUndecided)
	f("garbage\n", ExitUnable)
	packed := pack(world{seed: 1, sessions: 50}.lines())
	f(packed[:len(packed)/2], ExitUnable)
	f(world{seed: 1, sessions: 3}.lines(), ExitGood)
	f(world{seed: 1, sessions: 3, background: 1}.lines(), ExitCorrupted)
}

// A journal may hold a new configuration in every line, and texts that would
// like to be markup.
func TestHostileJournal(t *testing.T) {
	evil := `</td><script>alert(1)</script>`
	var b strings.Builder
	for i := range maxConfigs + 100 {
		fmt.Fprintf(&b, `{"v":1,"id":"%d","time":"2026-03-01T12:00:00Z","verdict":"corrupted","arm":"live","session":"s%d","fingerprint":"%d",`+
			`"findings":[{"kind":"%s","cause":"unknown","tool":"%s","path":"\u001b[31m\u202e"}],"tags":{"%s":{"v":"%s%d"},"batch":{"v":"-5"}}}`+"\n",
			i, i, i, evil, evil, evil, evil, i%3)
	}
	r := Make(read(t, b.String(), "-"), Options{Permutations: 10})
	if r.Source.TagsLost != 100 || r.Kinds[0].Kind != "other" || r.Sessions.Corrupted != maxConfigs+100 {
		t.Errorf("got %d turns without tags, %+v, %s", r.Source.TagsLost, r.Kinds, r.Sessions)
	}
	var page, text, mark bytes.Buffer
	for _, err := range []error{r.HTML(&page), r.Text(&text), r.Markdown(&mark)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if bytes.Contains(page.Bytes(), []byte("<script")) || bytes.Contains(mark.Bytes(), []byte("<script")) {
		t.Error("text of the journal came out as markup")
	}
	for what, b := range map[string][]byte{"page": page.Bytes(), "text": text.Bytes(), "markdown": mark.Bytes()} {
		if bytes.ContainsAny(b, "\x1b\u202e") {
			t.Errorf("%s: control characters of the journal came out", what)
		}
	}
}
