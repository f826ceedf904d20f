package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The official JSON-Schema-Test-Suite, as a module carries it that is no
// dependency of ours: only its files are read. The hash is the one that go.sum
// would hold.
const (
	suiteModule = "github.com/kaptinlin/jsonschema@v0.4.6"
	suiteSum    = "h1:vOSFg5tjmfkOdKg+D6Oo4fVOM/pActWu/ntkPsI1T64="
	suiteFolder = "testdata/JSON-Schema-Test-Suite"
	suiteOther  = "TURNWATCH_SUITE" // another copy of the suite, if set
)

// suite is where the suite lies.
func suite(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv(suiteOther); dir != "" {
		return dir
	}
	out, err := exec.Command("go", "mod", "download", "-json", suiteModule).Output()
	if err != nil {
		t.Fatalf("go mod download %s: %v", suiteModule, err)
	}
	var m struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	if m.Sum != suiteSum {
		t.Fatalf("%s: got sum %s, want %s", suiteModule, m.Sum, suiteSum)
	}
	return filepath.Join(m.Dir, suiteFolder)
}

// suiteGroup is a schema of the suite with its tests.
type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// outside reports whether a group refers to a document that lies elsewhere:
// none is ever loaded, and such a reference is not held against. A schema of
// schemas of one's own is not loaded either, as SGLang does not.
func outside(name string, schema []byte) bool {
	for _, part := range []string{"/refRemote.json: ", "/vocabulary.json: schema that uses custom metaschema"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	for _, ref := range []string{`"tree.json"`, `"extendible-dynamic-ref.json"`, `"http://localhost:1234/`} {
		if strings.Contains(name, "/dynamicRef.json: ") && bytes.Contains(schema, []byte(`"$ref":`+ref)) {
			return true
		}
	}
	return false
}

// remotes loads what the suite refers to, for the library alone. What says no
// draft is of the one at hand.
type remotes struct{ dir, uri string }

func (r remotes) Load(url string) (any, error) {
	text, err := os.ReadFile(filepath.Join(r.dir, strings.TrimPrefix(url, "http://localhost:1234/")))
	if err != nil {
		return nil, err
	}
	doc, err := decode(text)
	if o, ok := doc.(map[string]any); ok && o["$schema"] == nil {
		o["$schema"] = r.uri
	}
	return doc, err
}

func TestSuite(t *testing.T) {
	dir := suite(t)
	for _, d := range []struct {
		folder, uri string
		outside     int
	}{
		{"draft7", "http://json-schema.org/draft-07/schema#", 11},
		{"draft2019-09", "https://json-schema.org/draft/2019-09/schema", 16},
		{"draft2020-12", "https://json-schema.org/draft/2020-12/schema", 25},
	} {
		files, err := filepath.Glob(filepath.Join(dir, "tests", d.folder, "*.json"))
		if err != nil || len(files) < 30 {
			t.Fatalf("%s: got %d files, %v", d.folder, len(files), err)
		}
		score := tally{loader: remotes{filepath.Join(dir, "remotes"), d.uri}}
		for _, file := range files {
			score.file(t, d.uri, d.folder+"/"+filepath.Base(file), file)
		}
		t.Logf("%s: %d right, %d of them by the library; %d need another document", d.folder, score.right, score.library, score.outside)
		if score.outside > d.outside {
			t.Errorf("%s: got %d tests that need another document, want at most %d", d.folder, score.outside, d.outside)
		}
	}
}

// tally counts the tests of a draft.
type tally struct {
	loader                  remotes
	right, library, outside int
}

func (s *tally) file(t *testing.T, uri, name, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var groups []suiteGroup
	if err := json.Unmarshal(text, &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		var o map[string]any
		if json.Unmarshal(g.Schema, &o) == nil && o != nil {
			if o["$schema"] == nil {
				o["$schema"] = uri
			}
			g.Schema, _ = json.Marshal(o)
		}
		compiled := Compile(g.Schema)
		for _, c := range g.Tests {
			s.judge(t, compiled, name+": "+g.Description+": "+c.Description, g.Schema, c.Data, c.Valid)
		}
	}
}

// judge holds one text against its schema, whole and byte by byte.
func (s *tally) judge(t *testing.T, compiled *Schema, name string, schema, data []byte, valid bool) {
	t.Helper()
	found, st := compiled.Check(data, NewBudget())
	c := compiled.Checker(NewBudget())
	for i := range data {
		c.Feed(data[i : i+1])
	}
	if again, status := c.Finish(data); status != st || !slices.EqualFunc(found, again, same) {
		t.Errorf("%s: got %+v %v, byte by byte %+v %v", name, found, st, again, status)
	}
	c.Free()
	got := len(found) == 0
	switch {
	case st == Ready && got == valid:
		s.right++
		if compiled.program == nil {
			s.library++
		}
	case outside(name, schema):
		s.outside++
		s.elsewhere(t, name, schema, data, valid)
	default:
		t.Errorf("%s: %s on %s: got %+v %v, want valid %v", name, schema, data, found, st, valid)
	}
}

// elsewhere shows that the library would agree, were it let load.
func (s *tally) elsewhere(t *testing.T, name string, schema, data []byte, valid bool) {
	t.Helper()
	doc, _ := decode(schema)
	v, _ := decode(data)
	sch := build(doc, engine, s.loader)
	if sch == nil || (sch.Validate(v) == nil) != valid {
		t.Errorf("%s: the library does not agree either", name)
	}
}

// same reports whether two violations are the same.
func same(a, b Violation) bool {
	return a.Class == b.Class && a.At == b.At && a.Pointer == b.Pointer && a.Minor == b.Minor && a.Key == b.Key && slices.Equal(a.Path, b.Path)
}
