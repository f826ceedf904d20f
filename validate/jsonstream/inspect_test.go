package jsonstream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func spell(way []Token) string {
	var b strings.Builder
	for _, t := range way {
		if t.Array {
			fmt.Fprintf(&b, "/%d", t.Index)
		} else {
			b.WriteString("/" + t.Key)
		}
	}
	return b.String()
}

func TestPointer(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := spell(Pointer([]byte(in), len(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	f(``, "")
	f(`{`, "")
	f(`{"a`, "")
	f(`{"a":`, "/a")
	f(`{"a":1`, "/a")
	f(`{"a":1,`, "")
	f(`{"a":1,"b":[`, "/b/0")
	f(`{"a":1,"b":[1,`, "/b/1")
	f(`{"a":1,"b":[1,{"c`, "/b/1")
	f(`{"a":1,"b":[1,{"c":"x,y`, "/b/1/c")
	f(`{"a":{"b":1}`, "/a")
	f(`{"a":{"b":1},"c":`, "/c")
	f(`{"a\"b":`, `/a"b`)
	f(strings.Repeat("[", 100), strings.Repeat("/0", maxTokens))
}

func TestLocate(t *testing.T) {
	const in = ` {"a" : [1, "two", {"b":null}], "c":{"d":1, "d":2}, "":3}`
	f := func(path, want, way string, ok bool) {
		t.Helper()
		var steps []string
		if path != "-" {
			steps = strings.Split(path, "/")
		}
		s, w, found := Locate([]byte(in), steps)
		if got := in[s.Start:s.End]; got != want || spell(w) != way || found != ok {
			t.Errorf("%s: got %q by %q %v, want %q by %q %v", path, got, spell(w), found, want, way, ok)
		}
	}
	f("-", strings.TrimSpace(in), "", true)
	f("a", `[1, "two", {"b":null}]`, "/a", true)
	f("a/1", `"two"`, "/a/1", true)
	f("a/2/b", `null`, "/a/2/b", true)
	f("c/d", `2`, "/c/d", true)
	f("", `3`, "/", true)
	f("a/7", `[1, "two", {"b":null}]`, "/a", false)
	f("a/1/x", `"two"`, "/a/1", false)
}

func TestDuplicates(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		var got []string
		for _, d := range Duplicates([]byte(in), 8) {
			got = append(got, fmt.Sprintf("%s/%s@%d %v", spell(d.Object), d.Key, d.End, d.Same))
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: got %s, want %s", in, s, want)
		}
	}
	f(`{"a":1,"b":1}`, "")
	f(`{"a":1,"a":2}`, "/a@10 false")
	f(`{"a":{"x": 1},"a":{"x":1}}`, "/a@17 true")
	f(`{"k":[0,{"a":1,"\u0061":1}]}`, "/k/1/a@23 true")
	f(`[1,1]`, "")
}

// TestDuplicatesAreThoseOfMembers: reading once finds what going through the
// members of each container does.
func TestDuplicatesAreThoseOfMembers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		text := randomValue(rnd, nil, 4)
		for limit := range 5 {
			var want []string
			members(text, skipSpace(text, 0), nil, func(way, key string, end int) {
				if len(want) < limit {
					want = append(want, fmt.Sprintf("%s/%s@%d", way, key, end))
				}
			})
			var got []string
			for _, d := range Duplicates(text, limit) {
				got = append(got, fmt.Sprintf("%s/%s@%d", spell(d.Object), d.Key, d.End))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s, at most %d: got %v, want %v", text, limit, got, want)
			}
		}
	}
}

// members tells of each key that its object had before.
func members(text []byte, i int, way []Token, found func(way, key string, end int)) {
	seen, object := map[string]bool{}, text[i] == '{'
	for m, n := range Members(text, i) {
		step := Token{Index: n, Array: !object}
		if object {
			step.Key = unquote(text[m.KeyStart:m.KeyEnd])
			if seen[step.Key] {
				found(spell(way), step.Key, m.KeyEnd)
			}
			seen[step.Key] = true
		}
		members(text, m.Start, append(slices.Clone(way), step), found)
	}
}

// randomValue appends a value in which keys are often the same.
func randomValue(rnd *rand.Rand, b []byte, depth int) []byte {
	pick := func(all ...string) string { return all[rnd.IntN(len(all))] }
	b = append(b, pick("", " ", "\n")...)
	kind := rnd.IntN(3)
	if depth == 0 || kind == 2 {
		return append(b, pick(`"x"`, `"\\"`, `"a\"}]"`, `1`, `-1.5e3`, `null`, `true`, `""`, `{}`, `[ ]`)...)
	}
	b = append(b, "{["[kind])
	for n := range rnd.IntN(4) * (1 + rnd.IntN(4)) {
		if n > 0 {
			b = append(b, pick(",", " , ")...)
		}
		if kind == 0 {
			b = append(b, pick(`"a"`, `"b"`, `"\u0061"`, `"k\\"`, `"k\""`, fmt.Sprintf("%q", fmt.Sprint(n)), fmt.Sprintf("%q", fmt.Sprint(n)))...)
			b = append(b, pick(":", " : ")...)
		}
		b = append(randomValue(rnd, b, depth-1), pick("", " ")...)
	}
	return append(b, "}]"[kind])
}

func TestRepeats(t *testing.T) {
	f := func(in string, want bool) {
		t.Helper()
		if got := Repeats([]byte(in), int(read(in).End())); got != want {
			t.Errorf("%q: got %v, want %v", in, got, want)
		}
	}
	f(`{"a":1}{"a":1}`, true)
	f(`{"a":1} {"a":1}`+"\n"+`{"a":1} `, true)
	f(`{"a":1}{"a":2}`, false)
	f(`{"a":1}{"a":1}{`, false)
	f(`{"a":1}`, false)
}
