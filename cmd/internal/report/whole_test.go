package report

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A copy of a journal is no further evidence.
func TestTurnsReadAgainCountOnce(t *testing.T) {
	dir := t.TempDir()
	text := world{seed: 1, sessions: 40, inside: 0.5, cause: origin}.lines()
	one, copied := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	put(t, one, text)
	put(t, copied, text+text)
	want, got := Make(read(t, "", one), Options{}), Make(read(t, "", dir), Options{})
	if got.Sessions != want.Sessions || got.Turns != want.Turns {
		t.Errorf("with copies: %v of sessions, %v of turns; want %v, %v", got.Sessions, got.Turns, want.Sessions, want.Turns)
	}
	if got.Source.Again != 400 || len(got.Examples) != len(want.Examples) {
		t.Errorf("%d turns read again, %d examples; want 400, %d", got.Source.Again, len(got.Examples), len(want.Examples))
	}
}

// ownTag gives each turn a tag with a value that no other has, as a gateway does
// that adds an id.
func ownTag(text string) string {
	n := 0
	return regexp.MustCompile(`"tags":{`).ReplaceAllStringFunc(text, func(s string) string {
		n++
		return fmt.Sprintf(`%s"serial":{"v":"no%d","src":"header"},`, s, n)
	})
}

// All turns of three sessions are corrupted, which is little evidence. A tag that
// differs within sessions must not make it much.
func TestSessionIsOneObservation(t *testing.T) {
	var b strings.Builder
	for s := range 24 {
		for i := range 20 {
			dtype, verdict, more := pick(s%2, "bf16", "fp8"), "clean", ""
			if s < 6 && s%2 == 0 {
				verdict, more = "corrupted", found("schema_value", "unknown")
			}
			b.WriteString(line(fmt.Sprint(s), verdict, fmt.Sprintf(`,"turn":%d,"fingerprint":"%s","tags":{"index_dtype":{"v":"%s"}}%s`, i+1, dtype, dtype, more)))
		}
	}
	f := func(text string) *Explained { return &Make(read(t, text, "-"), Options{Seed: 1}).Explained[0] }
	want := f(b.String())
	got := f(ownTag(b.String()))
	if got.Sessions != want.Sessions || got.P != want.P || got.Word != want.Word || want.P < 0.05 {
		t.Errorf("with a tag of each turn's own: %v, %s, p = %v; want %v, %s, p = %v", got.Sessions, got.Word, got.P, want.Sessions, want.Word, want.P)
	}
}

// More values of one tag than are kept cost the other tags nothing.
func TestTagOfEachTurnsOwnIsLeftOut(t *testing.T) {
	text := ownTag(world{seed: 1, sessions: 5000, inside: 0.15, cause: origin}.lines())
	r := Make(read(t, text, "-"), Options{Seed: 1, Permutations: 100})
	if r.Source.TagsLost != 0 || fmt.Sprint(r.Source.Loud) != "[serial]" {
		t.Errorf("tags of %d turns lost, left out %v; want none, [serial]", r.Source.TagsLost, r.Source.Loud)
	}
	if e := r.Explained[0]; e.Word != "separated" || !strings.Contains(e.Causes[0].Text, "index_dtype=bf16") {
		t.Errorf("got %s, %+v; want the cause", e.Word, e.Causes)
	}
	var out strings.Builder
	r.Text(&out) // a builder takes everything
	if !strings.Contains(out.String(), "too many values of them: serial.") {
		t.Errorf("the report does not say that it left out serial:\n%s", out.String())
	}
}
