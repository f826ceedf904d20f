package journal

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"turnwatch/proxy/turn"
)

// TestChangeIsALineThatIsNoTurn: it is in the file, and whoever reads turns
// passes over it.
func TestChangeIsALineThatIsNoTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	w, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Finish(&turn.Turn{V: turn.Version, ID: "a"})
	w.Change(&turn.ConfigChange{V: turn.Version, From: "1a2b3c4d", To: "5e6f7a8b", Turn: "b", Changed: []turn.Change{{Tag: "overlap", From: "on", To: "off"}}})
	w.Finish(&turn.Turn{V: turn.Version, ID: "b"})
	if err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) != 3 || !strings.Contains(lines[1], `"type":"config_change"`) || !strings.Contains(lines[1], `"overlap":{"from":"on","to":"off"}`) {
		t.Errorf("got %s", b)
	}
	var ids string
	for u, err := range Read(strings.NewReader(string(b))) {
		if err != nil {
			t.Fatal(err)
		}
		ids += u.ID
	}
	if ids != "ab" {
		t.Errorf("turns: got %q, want ab", ids)
	}
}
