package validate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// pieceLen is the length of a piece of clean material, which plays the part
// of an answer, and maxAlarms how many of 10,000 pieces may raise an alarm.
const (
	pieceLen  = 2 << 10
	maxAlarms = 1
)

// tally counts the alarms over the pieces of one source of clean material.
type tally struct {
	source        string
	pieces, bytes int
	wrong         int // pieces with an alarm that makes a verdict
	alarms        map[string]int
	examples      []string
}

// maxExamples bounds how many alarms of one kind are shown.
const maxExamples = 50

func (y *tally) alarm(kind, where, what string) {
	if y.alarms[kind]++; y.alarms[kind] <= maxExamples {
		y.examples = append(y.examples, fmt.Sprintf("%s | %s | %s | %s", y.source, kind, where, what))
	}
}

func (y *tally) add(other *tally) {
	y.pieces, y.bytes, y.wrong = y.pieces+other.pieces, y.bytes+other.bytes, y.wrong+other.wrong
	for k, n := range other.alarms {
		y.alarms[k] += n
	}
}

// judges judges pieces as answers to an empty prompt that offers tools.
type judges struct {
	req  *Request
	buf  bytes.Buffer
	seed maphash.Seed
	seen map[uint64]bool // hashes of the pieces, so that none counts twice
}

func newJudges(t *testing.T) *judges {
	var req struct {
		Messages []struct{} `json:"messages"`
		Tools    []any      `json:"tools"`
	}
	for _, name := range []string{"get_weather", "run_shell", "write_file", "read", "write", "edit", "bash", "search", "list", "task", "fetch", "query", "name", "test"} { // words that files are full of, too
		req.Tools = append(req.Tools, map[string]any{"type": "function", "function": map[string]any{"name": name}})
	}
	body, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseRequest("/v1/chat/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	return &judges{req: r, seed: maphash.MakeSeed(), seen: map[uint64]bool{}}
}

// encode appends v as JSON.
func (j *judges) encode(v any) {
	e := json.NewEncoder(&j.buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
}

// answer is an answer whose content is the piece, and so is the string in the
// arguments of its call.
func (j *judges) answer(p []byte) []byte {
	j.buf.Reset()
	j.encode(map[string]string{"content": string(p)})
	args := strings.TrimSpace(j.buf.String())
	j.buf.Reset()
	j.buf.WriteString(`{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"write_file","arguments":`)
	j.encode(args)
	j.buf.WriteString(`}}],"content":`)
	j.encode(string(p))
	j.buf.WriteString(`}}]}`)
	return j.buf.Bytes()
}

// piece judges a piece.
func (j *judges) piece(y *tally, where string, p []byte) {
	c := NewChecker(j.req, Head{Status: 200, ContentType: "application/json"})
	c.Feed(0, j.answer(p))
	v := c.Finish(Complete)
	y.pieces, y.bytes = y.pieces+1, y.bytes+len(p)
	if v.Outcome != Clean {
		y.wrong++
	}
	for _, f := range v.Findings {
		y.alarm(string(f.Kind), where, j.around(f.Offset))
	}
	for _, s := range v.Signals {
		y.alarm(string(s.Kind)+" (signal)", where, j.around(s.Offset))
	}
	if v.Outcome != Clean && len(v.Findings) == 0 {
		y.alarm(string(v.Outcome)+" "+string(v.Reason), where, "")
	}
}

// around is what stands around an offset of the answer.
func (j *judges) around(at int64) string {
	b := j.buf.Bytes()
	return fmt.Sprintf("%q", b[max(0, at-24):min(int64(len(b)), at+64)])
}

// file cuts a file into pieces and judges them. A file that is no text is
// left out.
func (j *judges) file(y *tally, path string) {
	data, err := os.ReadFile(path)
	if err != nil || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return
	}
	for at := 0; at < len(data); {
		end := min(at+pieceLen, len(data))
		for end < len(data) && !utf8.RuneStart(data[end]) {
			end++
		}
		if h := maphash.Bytes(j.seed, data[at:end]); !j.seen[h] {
			j.seen[h] = true
			j.piece(y, fmt.Sprintf("%s+%d", path, at), data[at:end])
		}
		at = end
	}
}

// walk judges all files of a folder.
func walk(t *testing.T, dir string) *tally {
	y, j := &tally{source: filepath.Base(dir), alarms: map[string]int{}}, newJudges(t)
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			j.file(y, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// material is the folders of clean text: those that TURNWATCH_CLEAN holds, or
// some of the Go tree.
func material(t *testing.T) (dirs []string) {
	if clean := os.Getenv("TURNWATCH_CLEAN"); clean != "" {
		dirs, _ = filepath.Glob(filepath.Join(clean, "*"))
		if len(dirs) == 0 {
			t.Fatalf("TURNWATCH_CLEAN=%s holds nothing", clean)
		}
		return dirs
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("go env GOROOT: %v", err)
	}
	for _, name := range []string{"encoding", "go", "html", "mime", "net", "strings", "text", "unicode"} {
		dirs = append(dirs, filepath.Join(strings.TrimSpace(string(out)), "src", name))
	}
	return dirs
}

// TestCleanMaterialRaisesNoAlarm judges what nobody would call corrupted, cut
// into pieces: of 10,000 at most one may get a verdict for it. By itself it
// reads some of the Go tree. To measure more,
//
//	TURNWATCH_CLEAN=DIR TURNWATCH_CLEAN_REPORT=FILE go test -run CleanMaterial -v ./validate
//
// reads each folder in DIR as a source of its own, prints the rates by kind
// and writes examples to FILE.
func TestCleanMaterialRaisesNoAlarm(t *testing.T) {
	all := &tally{source: "all", alarms: map[string]int{}}
	var examples []string
	for _, dir := range material(t) {
		y := walk(t, dir)
		y.report(t)
		all.add(y)
		examples = append(examples, y.examples...)
	}
	all.report(t)
	if file := os.Getenv("TURNWATCH_CLEAN_REPORT"); file != "" {
		if err := os.WriteFile(file, []byte(strings.Join(examples, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if limit := max(1, maxAlarms*all.pieces/10000); all.wrong > limit {
		t.Errorf("got alarms in %d of %d pieces, want at most %d:\n%s", all.wrong, all.pieces, limit, strings.Join(examples, "\n"))
	}
}

func (y *tally) report(t *testing.T) {
	t.Logf("%-14s %8d pieces %7.1f MB, %d with an alarm: %.2f of 10,000", y.source, y.pieces, float64(y.bytes)/1e6, y.wrong, y.rate(y.wrong))
	for _, k := range slices.SortedFunc(maps.Keys(y.alarms), cmp.Compare) {
		t.Logf("    %-32s %6d: %.2f of 10,000", k, y.alarms[k], y.rate(y.alarms[k]))
	}
}

func (y *tally) rate(n int) float64 { return 1e4 * float64(n) / float64(max(y.pieces, 1)) }
