//go:build e2e

package evidence

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTarAndJqSuffice to read a folder somewhere else, and sha256sum to check it.
func TestTarAndJqSuffice(t *testing.T) {
	dir, there := t.TempDir(), t.TempDir()
	w, err := Open(dir, Options{Bodies: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Finish(corrupted("a1", 10, time.Now(), time.Second))
	w.Finish(clean("a2", time.Now(), time.Second))
	closed(t, w)
	f := func(in, want string, command ...string) {
		t.Helper()
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = in
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: got %s, %v, want %q in it", command, out, err, want)
		}
	}
	f(dir, "", "tar", "czf", filepath.Join(there, "a1.tar.gz"), "a1")
	f(there, "", "tar", "xzf", "a1.tar.gz")
	a1 := filepath.Join(there, "a1")
	f(a1, "answer.body: OK", "sha256sum", "-c", FileSums)
	f(a1, "schema_value", "jq", "-r", ".[0].kinds[0]", FileWindows)
	f(a1, "corrupted", "jq", "-r", ".verdict", FileTurn)
	f(a1, "a2", "jq", "-r", ".id", FileOverlap)
	f(a1, "22 1.5", "jq", "-r", `.[1]|"\(.[0]) \(.[1])"`, FileAnswerTimes)
	f(a1, "true", "jq", ".bodies", FileManifest)
	f(a1, "bf16", "jq", "-r", ".tags.index_dtype.v", FileConfig)
	f(a1, "own", "jq", "-r", ".timeline[0].src", FileBatch)
}
