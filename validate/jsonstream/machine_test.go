package jsonstream

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func read(pieces ...string) *Machine {
	m := new(Machine)
	for _, p := range pieces {
		m.Feed([]byte(p))
	}
	return m
}

func TestFirstImpossibleByte(t *testing.T) {
	f := func(in string, want Code, offset int64) {
		t.Helper()
		if m := read(in); m.Code() != want || m.Offset() != offset {
			t.Errorf("%q: got %d at %d, want %d at %d", in, m.Code(), m.Offset(), want, offset)
		}
	}
	f(`{"a":[1,-2.5e+3,true,false,null,"\u00e9\\"]}`, OK, 44)
	f(" \t\r\n{} \n", OK, 8)
	f(`0`, OK, 1)
	f(`12 `, OK, 3)
	f(``, Open, 0)
	f(` `, Open, 1)
	f(`{"a":1`, Open, 6)
	f(`{"a"`, Open, 4)
	f(`{"a":"\ud83d`, Open, 12)
	f(`-`, Open, 1)
	f(`1.`, Open, 2)
	f(`1e`, Open, 2)
	f(`tru`, Open, 3)
	f(`{"a":1,}`, BadByte, 7)
	f(`[1,]`, BadByte, 3)
	f(`[,1]`, BadByte, 1)
	f(`{"a" 1}`, BadByte, 5)
	f(`{a:1}`, BadByte, 1)
	f(`[1}`, BadByte, 2)
	f(`{"a":1]`, BadByte, 6)
	f(`[01]`, BadByte, 2)
	f(`[1.e]`, BadByte, 3)
	f(`[-]`, BadByte, 2)
	f(`[1e+]`, BadByte, 4)
	f(`[nul]`, BadByte, 4)
	f(`[NaN]`, BadByte, 1)
	f("\ufeff{}", BadByte, 0)
	f("[\"a\nb\"]", BadControl, 3)
	f(`["\x"]`, BadEscape, 3)
	f(`["\u12g4"]`, BadEscape, 6)
	f(`["\ud83d."]`, LoneSurrogate, 8)
	f(`["\ud83d\n"]`, LoneSurrogate, 9)
	f(`["\ud83d\u0041"]`, LoneSurrogate, 11)
	f(`["\ude00"]`, LoneSurrogate, 5)
	f(`["\ud83d\ude00"]`, OK, 16)
	f("[\"\xff\"]", BadUTF8, 2)
	f("[\"\xc0\xaf\"]", BadUTF8, 2)
	f("[\"\xe2\x82\"]", BadUTF8, 4)
	f("[\"\xed\xa0\x80\"]", BadUTF8, 3)
	f("[\"\xf4\x90\x80\x80\"]", BadUTF8, 3)
	f("[\"\u20ac\U0001f600\"]", OK, 11)
	f(`{} {}`, Trailing, 3)
	f(`1 2`, Trailing, 2)
	f(`"a"b`, Trailing, 3)
	f(strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000), OK, 20_000)
	f(strings.Repeat(`{"a":[`, 100)+strings.Repeat("]}", 99)+"}]", BadByte, 798)
}

func TestEndAndDepth(t *testing.T) {
	f := func(in string, end int64, depth, values int) {
		t.Helper()
		if m := read(in); m.End() != end || m.Depth() != depth || m.Values() != values {
			t.Errorf("%q: got end %d depth %d values %d, want %d %d %d", in, m.End(), m.Depth(), m.Values(), end, depth, values)
		}
	}
	f(`{"a":[1,2]} x`, 11, 2, 4)
	f(`12`, 2, 0, 1)
	f(`12 3`, 2, 0, 1)
	f(`[[`, 0, 2, 2)
	f(strings.Repeat("[", 1000), 0, 1000, 1000)
}

func TestMemoryIsOneBitALevel(t *testing.T) {
	deep := []byte(strings.Repeat("[", 1<<20))
	m := new(Machine)
	m.Feed(deep)
	if got, want := len(m.stack)*8, 1<<20/8; got > want {
		t.Errorf("got %d bytes for %d levels, want at most %d", got, m.Depth(), want)
	}
}

// seeds are texts for the fuzzers and the cut test.
var seeds = []string{
	`{"path":"a.txt","edits":[{"old":"alpha","new":"beta \u00e9\ud83d\ude00"}],"n":-12.50e+07}`,
	`{"a":{"b":[[],{},null,true,false]},"c":"` + "\u20ac\U0001f600\xff" + `"}`,
	`[0.1,1e9,-0,12345678901234567890]`, `{"a":1}{"a":1}`, `{"a`, `"\ud83d"`, `  "x"  `, `[ARGS]{"`, "{\"a\":\"b\nc\"}", "", "nul", "-",
}

func TestCutsDoNotMatter(t *testing.T) {
	for _, s := range seeds {
		want := read(s)
		ones := new(Machine)
		for i := range len(s) {
			ones.Feed([]byte(s[i : i+1]))
			if got := read(s[:i], s[i:]); got.Code() != want.Code() || got.Offset() != want.Offset() || got.End() != want.End() {
				t.Errorf("%q cut at %d: got %d at %d, want %d at %d", s, i, got.Code(), got.Offset(), want.Code(), want.Offset())
			}
		}
		if ones.Code() != want.Code() || ones.Offset() != want.Offset() {
			t.Errorf("%q byte by byte: got %d at %d, want %d at %d", s, ones.Code(), ones.Offset(), want.Code(), want.Offset())
		}
	}
}

// FuzzMachine holds a Machine against encoding/json, which is laxer about
// UTF-8 and half surrogate pairs, and stops at 10,000 levels.
func FuzzMachine(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut uint8) {
		whole, cuts := new(Machine), new(Machine)
		whole.Feed(in)
		for p := in; len(p) > 0; {
			n := min(len(p), 1+int(cut)%17)
			cuts.Feed(p[:n])
			p = p[n:]
		}
		if whole.Code() != cuts.Code() || whole.Offset() != cuts.Offset() || whole.End() != cuts.End() {
			t.Fatalf("%q: got %d at %d, in pieces %d at %d", in, whole.Code(), whole.Offset(), cuts.Code(), cuts.Offset())
		}
		c := whole.Code()
		if c == LoneSurrogate || c == BadUTF8 || bytes.Count(in, []byte("["))+bytes.Count(in, []byte("{")) >= 10_000 {
			return
		}
		if got, want := c == OK, json.Valid(in); got != want {
			t.Fatalf("%q: got %v (code %d at %d), want %v", in, got, c, whole.Offset(), want)
		}
		if c != OK && c != Open && json.Valid(append(in[:whole.Offset():whole.Offset()], in[whole.Offset()])) {
			t.Fatalf("%q: byte %d was called impossible", in, whole.Offset())
		}
		if c == OK {
			Duplicates(in, 10)
			Locate(in, []string{"a", "0"})
		}
		Pointer(in, int(whole.Offset()))
	})
}

func BenchmarkMachine(b *testing.B) {
	text := []byte(`{"path":"src/main.go","content":"` + strings.Repeat(`func main() {\n\tfmt.Println(\"hello\")\n}\n`, 200) + `"}`)
	for name, n := range map[string]int{"whole": len(text), "16": 16, "4": 4} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				m := new(Machine)
				for p := text; len(p) > 0; {
					k := min(n, len(p))
					m.Feed(p[:k])
					p = p[k:]
				}
			}
		})
	}
}
