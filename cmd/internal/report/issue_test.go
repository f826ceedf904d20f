package report

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/evidence"
	"turnwatch/proxy/turn"
)

// gather writes the evidence of a turn in which secrets were said.
func gather(t *testing.T, dir string, bodies bool) {
	t.Helper()
	w, err := evidence.Open(dir, evidence.Options{Bodies: bodies})
	if err != nil {
		t.Fatal(err)
	}
	u := world{}.session(newRand(), 0)[0]
	corrupt(u)
	u.RequestID, u.Session, u.Findings[0].Offset = "secret-request", "secret-session", 30
	u.Tags["batch_at_onset"], u.Tags["index_dtype"] = turn.Tag{Value: "17", Source: "facts"}, header("bf16")
	u.Tags["batch_steps"] = turn.Tag{Value: "17-32:9", Source: "facts"}
	u.Capture = &turn.Capture{
		Request: turn.Said{Head: []byte("POST /v1/chat/completions?secret=1 HTTP/1.1\r\nAuthorization: Bearer secret\r\n\r\n"), Body: []byte(`{"messages":[{"role":"user","content":"secret"}]}`)},
		Answer:  turn.Said{Head: []byte("HTTP/1.1 200 OK\r\n\r\n"), Body: []byte(`{"choices":[{"message":{"content":"secret words"}}]}`)},
		Loads:   []turn.Load{{Source: "facts", First: new(int), Last: new(int), Batch: 17}},
	}
	w.Finish(u)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestIssueHoldsNothingThatWasSaid(t *testing.T) {
	for _, bodies := range []bool{false, true} {
		dir := t.TempDir()
		gather(t, dir, bodies)
		folders, failed, err := ReadEvidence([]string{dir})
		if err != nil || len(failed) > 0 || len(folders) != 1 {
			t.Fatalf("%d folders, %v, %v", len(folders), failed, err)
		}
		r := Make(read(t, world{seed: 1, sessions: 400, inside: 0.5, cause: origin}.lines(), "-"), Options{Seed: 1})
		var b strings.Builder
		if err := Issue(&b, folders, r); err != nil {
			t.Fatal(err)
		}
		out := b.String()
		if strings.Contains(out, "secret") {
			t.Errorf("bodies %v: what was said is in the report:\n%s", bodies, out)
		}
		for _, want := range []string{"# \\[Bug\\] sim/DeepSeek-V4: ", "schema\\_value", "| bf16 |", "| 17 |", "CORRUPTION sessions: ", "What explains it", "steps 0 to 0", "## Reproduction"} {
			if !strings.Contains(out, want) {
				t.Errorf("bodies %v: no %q in\n%s", bodies, want, out)
			}
		}
		if strings.Contains(out, "17-32:9") {
			t.Errorf("bodies %v: what one turn measured is in the environment:\n%s", bodies, out)
		}
		if got := strings.Contains(out, "turnstress replay EVIDENCE/"); got != bodies {
			t.Errorf("bodies %v: how to replay is told: %v", bodies, got)
		}
	}
}

func TestEvidenceThatWasChangedIsTold(t *testing.T) {
	dir := t.TempDir()
	gather(t, dir, false)
	if _, _, err := ReadEvidence([]string{filepath.Join(dir, "none")}); err == nil {
		t.Error("a folder that is not there was read")
	}
	found, err := evidence.Find(dir)
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	if err := os.WriteFile(filepath.Join(found[0], evidence.FileTurn), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, failed, err := ReadEvidence([]string{dir}); err == nil || len(failed) != 1 {
		t.Errorf("got %v, %v, want that it was changed", failed, err)
	}
}
