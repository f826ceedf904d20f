package proxy

import (
	"strings"
	"testing"
)

// TestTokenIsWhatRFC9110Says tries every byte, alone and behind another.
func TestTokenIsWhatRFC9110Says(t *testing.T) {
	const tchars = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for c := range 256 {
		want := strings.IndexByte(tchars, byte(c)) >= 0
		for _, name := range []string{string([]byte{byte(c)}), string([]byte{'x', byte(c)})} {
			if got := isToken([]byte(name)); got != want {
				t.Errorf("%q: got %v, want %v", name, got, want)
			}
		}
	}
}

// TestFieldIsCutAtItsColon tries lines with and without what a field has.
func TestFieldIsCutAtItsColon(t *testing.T) {
	for _, c := range []struct{ line, name, value string }{
		{"", "", ""}, {"a", "a", ""}, {":", "", ""}, {"a:", "a", ""}, {"a: \t", "a", ""}, {":b", "", "b"},
		{"a:b", "a", "b"}, {"a \t:\t b: c \t", "a \t", "b: c"},
	} {
		name, value := cutField([]byte(c.line))
		if string(name) != c.name || string(value) != c.value {
			t.Errorf("%q: got %q and %q, want %q and %q", c.line, name, value, c.name, c.value)
		}
	}
}
