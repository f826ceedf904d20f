package echo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// say is a match in a word, with its edit.
func say(m Match) string {
	return strings.TrimSpace([...]string{"exact", "near", "absent", "other", "unknown"}[m.How] + " " + m.Edit)
}

func judge(request, value string) Match {
	var s Source
	s.Reset([]byte(request), nil)
	return s.Judge([]Value{{Text: []byte(value), Number: json.Valid([]byte(value))}})[0]
}

// TestJudge: what a request says of a value.
func TestJudge(t *testing.T) {
	const request = `{"messages":[{"role":"user","content":"Check flow on laa-E1IKB (cap 908.4), write to jgdxdy.47@tnoy.dev.\nOrder RX-93724 of 1,045,719 \u20ac, see src/merge_t6j/relay_84zl.go:12, 2026-11-29, v1.2.9"},` +
		`{"role":"tool","content":"{\"site\": \"Z5-747\", \"code\": 45719, \"note\": \"say \\\"hi\\\"\\nthere\", \"sha\": \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b\"}"}]}`
	f := func(value, want string) {
		t.Helper()
		if got := say(judge(request, value)); got != want {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
	f("laa-E1IKB", "exact")
	f("LAA-e1ikb", "exact")
	f("Z5-747", "exact")
	f("908.4", "exact")
	f("908.40", "exact")
	f("908", "other")
	f("1045719", "exact")
	f("45719.00", "exact")
	f("relay_84zl.go", "exact")
	f("src/merge_t6j", "exact")
	f("say \"hi\"\nthere", "exact")
	f("1,045,719 €", "exact")

	f("Z5-777", "near sub@4")
	f("45729", "near sub@3")
	f("4571", "near del@4")
	f("jgdxdy.47@tndy.dev", "near sub@12")
	f("jgdxyd.47@tnoy.dev", "near swap@4")
	f("src/merge_t6j/relay_88zl.go", "near sub@21")
	f("/src/merge_t6j/relay_8zl.go", "near del@22")
	f("RX-937724", "near ins@5")
	f("9f86d081884c7d659a2feaa0c55ad015a3bf4f2b", "near sub@38")

	f("8f3ac99d17", "absent")
	f("hello", "other")
	f("13", "other")
	f("77101", "other")

	// What agents do to what they were given.
	f("RX-93725", "other")
	f("v1.3.0", "other")
	f("2026-11-30", "other")
	f("908.5", "other")
	f("457.19", "other")
	f("9f86d08", "exact")
	f("src/merge_t6j/merge_84zl.go", "other")
}

// TestTokenEndsWhereItsScriptEnds: text beyond ASCII around an identifier is no
// part of it, and the same is told of it as between spaces.
func TestTokenEndsWhereItsScriptEnds(t *testing.T) {
	f := func(around, value, want string) {
		t.Helper()
		request := `{"content":"` + strings.ReplaceAll(around, "%", "RX-93724") + `"}`
		if got := say(judge(request, value)); got != want {
			t.Errorf("%s in %s: got %s, want %s", value, request, got, want)
		}
	}
	for _, around := range []string{"of % today", "订单%的状态", "注文%は", "주문 %를", "«%»", "“%”", "「%」。", "заказ%й", "%é"} {
		f(around, "RX-93724", "exact")
		f(around, "RX-93725", "other") // the next one
		f(around, "RX-9374", "near del@6")
	}
	f("é%", "RX-93724", "near del@0+2") // one word
	f("订单9f86d081884c7d65的状态", "9f86d081884c7d65", "exact")
	f("订单9f86d081884c7d65的状态", "9f86d081834c7d65", "near sub@9")
	f("订单", "9f86d081884c7d65", "absent")
	for _, around := range []string{"of 8293746150 x", "订单8293746150的", "“8293746150”", `\u8ba2\u53558293746150\u7684`} {
		f(around, "8293746150", "exact")
		f(around, "829376150", "near del@5")
	}
	f("x8293746150y", "829376150", "other")
	f(`\u5355% is`, "RX-9374", "near del@6")
}

// TestSourceFindsWhatAPlainSearchFinds: an index never changes what occurs.
func TestSourceFindsWhatAPlainSearchFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	any := anywhere
	for _, size := range []int{1, 3, 4, 40, 2000, chunkSize - 1, chunkSize, chunkSize + 2, 3*chunkSize + 777} {
		text := make([]byte, size)
		for i := range text {
			text[i] = "abcdeABC019-/. \""[r.IntN(16)]
		}
		var s Source
		s.Reset(text, nil)
		s.index()
		lowered := bytes.ToLower(text)
		for range 400 {
			from := r.IntN(size)
			v := bytes.Clone(text[from:min(size, from+1+r.IntN(600))])
			if r.IntN(2) == 0 {
				v[r.IntN(len(v))] = 'z'
			}
			s.effort = 1 << 40
			if got, want := s.find(v, any), bytes.Contains(lowered, bytes.ToLower(v)); got != want {
				t.Fatalf("%d bytes, %d at %d: got %v, want %v", size, len(v), from, got, want)
			}
		}
		if held := s.Held(); size > 4096 && held > size/2+size/64 {
			t.Errorf("%d bytes: got an index of %d", size, held)
		}
	}
}

// TestEffortIsBounded: a text that makes every look a long one is given up.
func TestEffortIsBounded(t *testing.T) {
	text := bytes.Repeat([]byte("1a"), 1<<20)
	var s Source
	s.Reset(text, nil)
	values := []Value{{Text: append(bytes.Repeat([]byte("1a"), 1000), 'x')}, {Text: []byte("1a1a1a1b")}}
	for i, m := range s.Judge(values) {
		if m.How != Unknown {
			t.Errorf("%d: got %s, want unknown", i, say(m))
		}
	}
}

// slow is distance without bounds, from its definition.
func slow(v, w string) int {
	d := make([][]int, len(v)+1)
	for i := range d {
		d[i] = make([]int, len(w)+1)
		for j := range d[i] {
			d[i][j] = cheapest([]byte(v), []byte(w), i, j, func(i, j int) *int { return &d[i][j] })
		}
	}
	return d[len(v)][len(w)]
}

func TestDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	word := func() string {
		b := make([]byte, 1+r.IntN(12))
		for i := range b {
			b[i] = "ab1"[r.IntN(3)]
		}
		return string(b)
	}
	for range 20_000 {
		v, w, most := word(), word(), r.IntN(6)
		want := min(slow(v, w), most+1)
		if got := distance([]byte(v), []byte(w), most); got != want {
			t.Fatalf("%s, %s, at most %d: got %d, want %d", v, w, most, got, want)
		}
		n := 0
		for _, o := range edits([]byte(v), []byte(w)) {
			n += o.n
		}
		if n != slow(v, w) && v != w {
			t.Fatalf("%s, %s: got %d edits, want %d", v, w, n, slow(v, w))
		}
	}
}

func tokensOf(text []byte, cuts []byte) (all []string) {
	var r Reader
	for _, n := range cuts {
		k := min(int(n), len(text))
		if hasDigit(text[:k]) {
			r.Read(text[:k])
		} else {
			r.Plain(text[:k])
		}
		text = text[k:]
	}
	r.Read(text)
	r.Finish()
	for _, t := range r.Tokens() {
		all = append(all, fmt.Sprintf("%s@%d", t.Text, t.At))
	}
	return all
}

func TestReader(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		if got := tokensOf([]byte(text), nil); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	f("Refund RX-44334 of 187820 cents sent to ffiyrn.18@kqdj.dev.", "RX-44334@7", "187820@19", "ffiyrn.18@kqdj.dev@40")
	f("see (src/a1b2.go:12), or 3, 45 and 678", "src/a1b2.go:12@5")
	f("write to jane@acme.com - now", "jane@acme.com@9")
	f("no digits here, and/or none")
	f(strings.Repeat("a1", 60))
}

// FuzzReader: where a text is cut changes nothing, and what is found is there.
func FuzzReader(f *testing.F) {
	f.Add([]byte("Refund RX-44334 of 187820 cents sent to ffiyrn.18@kqdj.dev."), []byte{1, 0, 9, 3, 1, 1})
	f.Add([]byte("so RX- and, more of it-3417 then -ab, x@y and 3-. or 4711"), []byte{6, 18, 20, 1})
	f.Add([]byte("é1234 a@b.c \xff99999 ___12345___"), []byte{2, 2, 2})
	f.Fuzz(func(t *testing.T, text, cuts []byte) {
		want := tokensOf(text, nil)
		if got := tokensOf(text, cuts); !slices.Equal(got, want) {
			t.Errorf("%q cut at %v: got %v, want %v", text, cuts, got, want)
		}
		var r Reader
		r.Read(text)
		r.Finish()
		for _, k := range r.Tokens() {
			if !bytes.HasPrefix(text[k.At:], k.Text) {
				t.Errorf("%q: got %q at %d", text, k.Text, k.At)
			}
		}
	})
}

// blank reports whether a byte of ASCII separates words: all others may be of letters.
func blank(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) }

// FuzzJudge: whatever is sent and said, nothing breaks, and what is copied
// whole is a copy.
func FuzzJudge(f *testing.F) {
	f.Add([]byte(`{"a":"Z5-747 of 45719"}`), []byte("Z5-777"))
	f.Add([]byte("A\u00a0"), []byte("0"))
	f.Add([]byte(`\u00e9\n\\n1a2b3c4d5e "x@y.z"`), []byte("1a2b3c4d5f"))
	f.Fuzz(func(t *testing.T, request, value []byte) {
		if len(request) > 4<<10 {
			return // each field is looked for in all of it
		}
		var s Source
		s.Reset(request, nil)
		s.Judge([]Value{{Text: value}, {Text: value, Number: true}})
		for _, part := range bytes.FieldsFunc(request, blank) {
			if len(part) > maxToken || shapeOf(part) == number {
				continue
			}
			s.effort = 1 << 30
			if m := s.Judge([]Value{{Text: part}})[0]; m.How != Exact {
				t.Errorf("%q in %q: got %s", part, request, say(m))
			}
		}
	})
}

// TestWhatIsRepeatedIsIndexedOnce: a memory changes no answer, whether it holds
// what a text begins with or not, and stays within its bound.
func TestWhatIsRepeatedIsIndexedOnce(t *testing.T) {
	m := NewMemory(20 * 8 * chunkSize / perRow)
	text := conversation(8*chunkSize + 333)
	any := anywhere
	for n := chunkSize / 2; n < len(text); n += chunkSize/2 + 77 {
		var with, without Source
		with.Reset(text[:n], m)
		without.Reset(text[:n], nil)
		for at := 0; at+40 < n; at += 997 {
			v := text[at : at+40]
			if !with.find(v, any) || !without.find(v, any) {
				t.Fatalf("%d bytes: %q at %d is not found", n, v, at)
			}
			if lost := append([]byte("~"), v...); with.find(lost, any) {
				t.Fatalf("%d bytes: got %q found", n, lost)
			}
		}
		if len(m.young) > m.most || len(m.old) > m.most {
			t.Fatalf("got %d and %d indexes, want at most %d in a generation", len(m.young), len(m.old), m.most)
		}
	}
	var a, b Source
	a.Reset(text, m)
	b.Reset(text, m)
	a.index()
	b.index()
	if &a.chunks[7].rows[0] != &b.chunks[7].rows[0] {
		t.Error("got the same stretch indexed twice")
	}
}

// TestShortValuesAreFound holds the look for the first bytes, eight places at a
// time and from the end on, against one place after another. Some of the bytes differ by what tells
// capitals from small letters and are no letters.
func TestShortValuesAreFound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	pick := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = "aAbB@`Z{z"[r.IntN(9)]
		}
		return b
	}
	whole := func(*Source, int, int) bool { return true }
	for range 20000 {
		size := r.IntN(40)
		if r.IntN(20) == 0 {
			size += r.IntN(3 * atOnce)
		}
		s := Source{text: pick(size), effort: 1 << 20}
		v := pick(1 + r.IntN(5))
		want := false
		for i := 0; i+len(v) <= len(s.text); i++ {
			want = want || common(s.text[i:i+len(v)], v) == len(v)
		}
		if got := s.scan(v, 0, len(s.text), whole); got != want {
			t.Fatalf("%q in %q: got %t", v, s.text, got)
		}
		if len(v) < gram && s.short(v, whole) != want {
			t.Fatalf("%q in %q from the end on: got %t", v, s.text, !want)
		}
	}
}

// TestIdle: what is idle is never told to be almost a copy, or missing.
func TestIdle(t *testing.T) {
	for v, want := range map[string]bool{
		"": true, "SFO": true, "on": true, "7": true, "42": true, "-3": true, "99%": true,
		"SFO4": false, "north": false, "a@b": false, "428": false, "1.50": false, "2026-11-30": false, "x1": false, "été": false,
	} {
		if got := Idle(Value{Text: []byte(v)}); got != want {
			t.Errorf("%q: got %v, want %v", v, got, want)
		}
	}
	var s Source
	text := conversation(4 << 10)
	for n := range 100 {
		for _, v := range []Value{{Text: fmt.Append(nil, n), Number: true}, {Text: []byte{'a' + byte(n%26), 'Q', 'Z'}}} {
			s.Reset(text, nil)
			if m := s.Judge([]Value{v})[0]; Idle(v) && m.How != Exact && m.How != Other {
				t.Errorf("%s: got %v, want a copy or nothing", v.Text, m.How)
			}
		}
	}
}

// TestTokensAreThoseOfAReader: a text read at once has the tokens that its pieces have.
func TestTokensAreThoseOfAReader(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	parts := []string{"a", "word", "12", "2026-11-29", "jane@acme.dev", " ", ",", "-", "./", "RX-93724", "é", strings.Repeat("long1", 20), "\"", "1045.50"}
	for range 5000 {
		var text []byte
		for range rnd.IntN(100) {
			text = append(text, parts[rnd.IntN(len(parts))]...)
		}
		var r Reader
		cut := rnd.IntN(len(text) + 1)
		r.Read(text[:cut])
		r.Read(text[cut:])
		r.Finish()
		if got, want := slices.Collect(Tokens(text)), r.Tokens(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %v, want %v", text, got, want)
		}
	}
}

// TestShortTextIsJudgedWithoutAnIndexAsWithOne: values that are copies, almost and
// none, few and many.
func TestShortTextIsJudgedWithoutAnIndexAsWithOne(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	long := conversation(chunkSize)
	indexed := 0
	for range 500 {
		from := r.IntN(len(long) - 100)
		text := long[from : from+100+r.IntN(len(long)-from-100)]
		words := bytes.Fields(text)
		var values []Value
		for range 1 + r.IntN(20) {
			v := bytes.Clone(words[r.IntN(len(words))])
			if at := r.IntN(len(v)); r.IntN(3) == 0 {
				v[at] = "aZ19.-"[r.IntN(6)]
			}
			if r.IntN(4) == 0 {
				v = bytes.ToUpper(v)
			}
			values = append(values, Value{Text: v, Number: json.Valid(v)})
		}
		var with, without Source
		with.Reset(text, nil)
		without.Reset(text, nil)
		with.index()
		if got, want := without.Judge(values), with.Judge(values); !slices.Equal(got, want) {
			t.Fatalf("%+v in %q: got %v, want %v", values, text, got, want)
		}
		if without.ready {
			indexed++
		}
	}
	if indexed < 50 || indexed > 450 {
		t.Errorf("got %d of 500 indexed, want some", indexed)
	}
}

// forms are the ways to write a number, one after another.
func forms(v []byte) (all []string) {
	all = append(all, string(v))
	whole, part, _ := strings.Cut(strings.ReplaceAll(string(v), ",", ""), ".")
	part = strings.TrimRight(part, "0")
	for _, style := range [...]struct {
		whole string
		point string
	}{{whole, "."}, {string(parted([]byte(whole), ',')), "."}, {string(parted([]byte(whole), '.')), ","}} {
		for zeros := range 3 {
			behind := part + strings.Repeat("0", zeros)
			if behind != "" {
				behind = style.point + behind
			}
			all = append(all, style.whole+behind)
		}
	}
	return all
}

// FuzzFind holds what is found in a short text without an index against what is
// with one, and numbers against a look for each way to write them.
func FuzzFind(f *testing.F) {
	f.Add([]byte("order RX-93724 of 1,045,719.50, 1045.5 or 12.00"), []byte("1045719.5"))
	f.Add([]byte(`{"a":"Z5-747 of 45719"}`), []byte("z5-747"))
	f.Add(bytes.Repeat([]byte("a1a"), 300), []byte("a1aa1ab"))
	f.Fuzz(func(t *testing.T, text, value []byte) {
		if len(value) == 0 {
			return
		}
		search := func(v []byte, ok border, indexed bool) bool {
			var s Source
			if s.Reset(text, nil); indexed {
				s.index()
			}
			s.effort = 1 << 40
			return s.find(v, ok)
		}
		for _, ok := range []border{anywhere, words, digits, hashes} {
			if got, want := search(value, ok, false), search(value, ok, true); got != want {
				t.Errorf("%q in %q: got %v, want %v", value, text, got, want)
			}
		}
		want := false
		for _, v := range forms(bytes.TrimRight(bytes.TrimLeft(value, "+-$"), "%")) {
			want = want || search([]byte(v), digits, true)
		}
		var s Source
		s.Reset(text, nil)
		if got := s.hasNumber(value); got != want {
			t.Errorf("number %q in %q: got %v, want %v", value, text, got, want)
		}
	})
}
