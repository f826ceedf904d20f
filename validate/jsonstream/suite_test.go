package jsonstream

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
)

// vectors are those of nst/JSONTestSuite, commit 1ef36fa0 (MIT: see the licence
// beside them), a name and a quoted text a line. Its two large ones are made.
func vectors(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("testdata/JSONTestSuite/parsing.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{
		"n_structure_100000_opening_arrays": strings.Repeat("[", 100_000),
		"n_structure_open_array_object":     strings.Repeat(`[{"":`, 50_000) + "\n",
	}
	for line := range strings.Lines(string(b)) {
		name, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if all[name], err = strconv.Unquote(quoted); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if len(all) != 318 {
		t.Fatalf("got %d vectors, want 318", len(all))
	}
	return all
}

// taken reports what we make of the vectors that RFC 8259 leaves open: numbers
// may be larger than anybody can hold and nesting deep, but text is UTF-8
// without a mark in front, and halves of surrogate pairs stand for nothing.
func taken(name string) bool {
	return strings.HasPrefix(name, "i_number_") || name == "i_structure_500_nested_arrays"
}

// TestSuiteIsReadAsItSays: what must be accepted is, what must be refused is,
// whole and byte by byte, and where encoding/json refuses it.
func TestSuiteIsReadAsItSays(t *testing.T) {
	for name, text := range vectors(t) {
		whole, cut := read(text), new(Machine)
		for i := range len(text) {
			cut.Feed([]byte{text[i]})
		}
		if whole.Code() != cut.Code() || whole.Offset() != cut.Offset() {
			t.Errorf("%s: whole %d at %d, byte by byte %d at %d", name, whole.Code(), whole.Offset(), cut.Code(), cut.Offset())
		}
		want := name[0] == 'y' || name[0] == 'i' && taken(name)
		if got := whole.Code() == OK; got != want {
			t.Errorf("%s: %.60q: got code %d at %d, want accepted: %t", name, text, whole.Code(), whole.Offset(), want)
		}
		if name[0] == 'n' && whole.Code() != LoneSurrogate && whole.Code() != BadUTF8 {
			sameByte(t, name, text, whole)
		}
	}
}

// sameByte checks that encoding/json stumbles over the same byte.
func sameByte(t *testing.T, name, text string, m *Machine) {
	t.Helper()
	var v json.RawMessage
	var syntax *json.SyntaxError
	if err := json.Unmarshal([]byte(text), &v); !errors.As(err, &syntax) {
		t.Errorf("%s: encoding/json says %v", name, err)
		return
	}
	if strings.Contains(syntax.Error(), "exceeded max depth") {
		return // a bound of its own
	}
	end := strings.Contains(syntax.Error(), "unexpected end")
	if m.Code() == Open { // it may also say that a space cannot follow
		end = end || syntax.Offset == int64(len(text))
	}
	if end != (m.Code() == Open) || !end && syntax.Offset-1 != m.Offset() {
		t.Errorf("%s: %.60q: got code %d at %d; encoding/json: %v at %d", name, text, m.Code(), m.Offset(), syntax, syntax.Offset-1)
	}
}
