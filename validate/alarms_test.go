package validate

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"turnwatch/validate/markup"
	"turnwatch/validate/text"
)

// pieceLen is the length of a piece of clean material, which plays the part
// of an answer.
const pieceLen = 2 << 10

// tally counts the alarms over the pieces of one source of clean material.
type tally struct {
	pieces, bytes int
	alarms        map[string]int
	examples      map[string][]string
}

func newTally() *tally { return &tally{alarms: map[string]int{}, examples: map[string][]string{}} }

// alarm counts one, and keeps the first examples.
func (y *tally) alarm(kind, where, what string) {
	y.alarms[kind]++
	if len(y.examples[kind]) < 200 {
		y.examples[kind] = append(y.examples[kind], where+": "+what)
	}
}

// judges holds what pieces are judged by.
type judges struct {
	rules  markup.Rules
	prompt text.Prompt
	marks  markup.Scanner
	text   text.Detector
}

func newJudges() *judges {
	return &judges{rules: markup.Rules{Tools: true, Names: map[string]bool{"get_weather": true, "run_shell": true, "write_file": true}}}
}

// piece judges a piece as content and as the value of an argument.
func (j *judges) piece(y *tally, where string, p []byte) {
	for _, as := range [...]markup.Where{markup.Content, markup.Value} {
		j.marks.Reset(&j.rules, as)
		j.marks.Write(p)
		j.marks.Finish()
		for _, m := range j.marks.Matches() {
			kind := fmt.Sprintf("markup/%d", as)
			if !m.Proof {
				kind += " (signal)"
			}
			y.alarm(kind, where, fmt.Sprintf("%q %+v", clip(p, m.Start, m.End), m))
			if m.Proof {
				break
			}
		}
	}
	if _, ok := j.marks.Call(); ok {
		y.alarm("call", where, string(p))
	}
	j.text.Reset(&j.prompt)
	j.text.Write(p)
	j.text.Finish()
	for _, f := range j.text.Findings() {
		kind := f.Kind.String()
		switch {
		case f.Proof:
		case f.ProofIfCut:
			kind += " (if cut)"
		default:
			kind += " (signal)"
		}
		y.alarm(kind, where, fmt.Sprintf("%q %+v", clip(p, f.Start, f.End), f))
	}
}

func clip(p []byte, from, to int64) []byte {
	return p[max(0, from-24):min(int64(len(p)), to+24, from+80)]
}

// file cuts a file into pieces and judges them. A file that is not text is
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
		y.pieces, y.bytes = y.pieces+1, y.bytes+end-at
		j.piece(y, fmt.Sprintf("%s+%d", path, at), data[at:end])
		at = end
	}
}

// TestCleanMaterial judges what nobody would call corrupted. By itself it
// reads a part of the Go tree. TURNWATCH_CLEAN names a folder whose
// subfolders are sources of clean material, TURNWATCH_CLEAN_REPORT a file
// that the examples are written to.
func TestCleanMaterial(t *testing.T) {
	dir := os.Getenv("TURNWATCH_CLEAN")
	sources, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources in %q: %v", dir, err)
	}
	all := newTally()
	var report strings.Builder
	for _, source := range sources {
		y, j := newTally(), newJudges()
		root, _ := filepath.EvalSymlinks(source)
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				j.file(y, path)
			}
			return nil
		})
		y.report(&report, filepath.Base(source), t)
		all.pieces, all.bytes = all.pieces+y.pieces, all.bytes+y.bytes
		for k, n := range y.alarms {
			all.alarms[k] += n
		}
	}
	all.report(&report, "all", t)
	if path := os.Getenv("TURNWATCH_CLEAN_REPORT"); path != "" {
		os.WriteFile(path, []byte(report.String()), 0o600)
	}
}

func (y *tally) report(w *strings.Builder, source string, t *testing.T) {
	t.Logf("%-12s %8d pieces %6.1f MB", source, y.pieces, float64(y.bytes)/1e6)
	for _, k := range slices.SortedFunc(maps.Keys(y.alarms), cmp.Compare) {
		t.Logf("    %-24s %6d  %8.2f per 10,000", k, y.alarms[k], 1e4*float64(y.alarms[k])/float64(max(y.pieces, 1)))
		for _, e := range y.examples[k] {
			fmt.Fprintf(w, "%s | %s | %s\n", source, k, e)
		}
	}
}
