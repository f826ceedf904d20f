package sse

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestLinesAreEvents(t *testing.T) {
	f := func(in string, want ...string) {
		t.Helper()
		if have := datas(scan(&Scanner{Lines: true}, in)); !slices.Equal(have, want) {
			t.Errorf("%q: got %q, want %q", in, have, want)
		}
	}
	f("{}\n{\"a\":1}\n", "{}", `{"a":1}`)
	f("{}\r\n{}\r\n", "{}", "{}")
	f("\xef\xbb\xbf{}\n\n \t\n{}", "{}", "{}")
	f("data: {}\n\n: x\n", "data: {}", ": x")
	f("")
	f("\n\n")
	f(strings.Repeat("x", 100_000)+"\n", strings.Repeat("x", 100_000))
}

func TestLinesHaveTheirPlaces(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if have := fmt.Sprint(scan(&Scanner{Lines: true}, in)); have != want {
			t.Errorf("%q: got %s, want %s", in, have, want)
		}
	}
	f("ab\n\ncd\r\n", `["ab"@[0 1]-2 torn=false cut=false "cd"@[4 5]-6 torn=false cut=false]`)
	f("ab\ncd", `["ab"@[0 1]-2 torn=false cut=false "cd"@[3 4]-4 torn=true cut=true]`)
}

func FuzzLines(f *testing.F) {
	f.Add("{}\n{\"a\":1}\r\n\n{", uint8(1))
	f.Fuzz(func(t *testing.T, in string, cut uint8) {
		if strings.HasPrefix(in, "\xef") {
			return // a byte order mark, or no text at all
		}
		events := scan(&Scanner{Lines: true}, in)
		var want []string
		for _, l := range strings.FieldsFunc(in, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if strings.Trim(l, " \t") != "" {
				want = append(want, l)
			}
		}
		if have := datas(events); !slices.Equal(have, want) {
			t.Fatalf("%q: got %q, want %q", in, have, want)
		}
		for _, e := range events {
			for i, at := range e.at {
				if in[at] != e.data[i] {
					t.Fatalf("%q: byte %d of %q is said to be at %d", in, i, e.data, at)
				}
			}
		}
		var pieces []string
		for p := in; len(p) > 0; {
			n := min(len(p), 1+int(cut)%7)
			pieces, p = append(pieces, p[:n]), p[n:]
		}
		if have, want := fmt.Sprint(scan(&Scanner{Lines: true}, pieces...)), fmt.Sprint(events); have != want {
			t.Fatalf("%q in pieces: got %s, want %s", in, have, want)
		}
	})
}

func TestPendingEndsWithItsEvent(t *testing.T) {
	f := func(lines bool, in string, want bool) {
		t.Helper()
		s := &Scanner{Lines: lines}
		for p := []byte(in); len(p) > 0; {
			n, _ := s.Feed(p)
			p = p[n:]
		}
		if s.Pending() != want {
			t.Errorf("%q: got %v, want %v", in, s.Pending(), want)
		}
	}
	f(false, "data: x", true)
	f(false, "data: x\n", true)
	f(false, "data: x\n\n", false)
	f(false, "data: x\n\n: c\n", false)
	f(false, "data: x\n\ndata: y\n", true)
	f(true, "{", true)
	f(true, "{}\n", false)
	f(true, "{}\n{", true)
}
