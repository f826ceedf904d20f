package sse

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// got is an event as the tests compare it: its data, and where its bytes lie.
type got struct {
	data      string
	at        []int64
	end       int64
	torn, cut bool
}

func (g got) String() string {
	return fmt.Sprintf("%q@%v-%d torn=%v cut=%v", g.data, g.at, g.end, g.torn, g.cut)
}

func record(s *Scanner, ev *Event) got {
	g := got{data: string(ev.Data), end: ev.End, torn: ev.Torn, cut: ev.Cut}
	for i := range ev.Data {
		g.at = append(g.at, s.Offset(i))
	}
	return g
}

func scan(s *Scanner, pieces ...string) (out []got) {
	for _, piece := range pieces {
		for p := []byte(piece); len(p) > 0; {
			n, ev := s.Feed(p)
			if ev != nil {
				out = append(out, record(s, ev))
			}
			clear(p[:n]) // the scanner may keep nothing of it
			p = p[n:]
		}
	}
	if ev := s.Close(); ev != nil {
		out = append(out, record(s, ev))
	}
	return out
}

func datas(events []got) (out []string) {
	for _, e := range events {
		out = append(out, e.data)
	}
	return out
}

func TestEvents(t *testing.T) {
	f := func(in string, want ...string) {
		t.Helper()
		if have := datas(scan(new(Scanner), in)); !slices.Equal(have, want) {
			t.Errorf("%q: got %q, want %q", in, have, want)
		}
	}
	f("data: a\n\ndata: b\n\n", "a", "b")
	f("data: a\r\n\r\ndata: b\r\n\r\n", "a", "b")
	f("data: a\r\rdata: b\r\r", "a", "b")
	f("data: a\r\n\ndata: b\n\r\n", "a", "b")
	f("data:a\n\n", "a")
	f("data:  a\n\n", " a")
	f("\xef\xbb\xbfdata: a\n\n", "a")
	f("data: a\ndata: b\ndata:\ndata: c\n\n", "a\nb\n\nc")
	f(": hello\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\n", "a")
	f("event: x\n\n")
	f("data:\n\n")
	f("data\n\ndata: a\n\n", "a")
	f("database: x\n\n")
	f("data: a", "a")
	f("data: a\n", "a")
	f("\n\n\n")
	f("data: "+strings.Repeat("x", 100_000)+"\n\n", strings.Repeat("x", 100_000))
}

func TestTornEvents(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if have := fmt.Sprint(scan(new(Scanner), in)); have != want {
			t.Errorf("%q: got %s, want %s", in, have, want)
		}
	}
	f("data: ab\n\n", `["ab"@[6 7]-8 torn=false cut=false]`)
	f("data: ab\n", `["ab"@[6 7]-8 torn=true cut=false]`)
	f("data: ab", `["ab"@[6 7]-7 torn=true cut=true]`)
	f("data: a\ndata:b\n\n", `["a\nb"@[6 7 13]-14 torn=false cut=false]`)
}

func TestErrorsAreMarked(t *testing.T) {
	f := func(in string, want bool) {
		t.Helper()
		s := new(Scanner)
		n, ev := s.Feed([]byte(in))
		if ev == nil {
			ev = s.Close()
		}
		if ev == nil || n == 0 || ev.Failed != want {
			t.Errorf("%q: got %+v, want Failed %v", in, ev, want)
		}
	}
	f("event: error\ndata: x\n\n", true)
	f("event:error\ndata: x", true)
	f("error: {}\n\n", true)
	f("event: errors\ndata: x\n\n", false)
	f("event: error\n\ndata: x\n\n", false)
	f("data: error\n\n", false)
}

func TestCommentsAreCounted(t *testing.T) {
	s := new(Scanner)
	scan(s, ": a\n\n:\ndata: x\n: b\n\n")
	if s.Comments != 3 {
		t.Errorf("got %d comments, want 3", s.Comments)
	}
}

func TestLongLinesStop(t *testing.T) {
	f := func(in string, want bool) {
		t.Helper()
		s := &Scanner{Max: 100}
		for i := range len(in) {
			s.Feed([]byte(in[i : i+1]))
		}
		if s.TooLong() != want {
			t.Errorf("%d bytes: got %v, want %v", len(in), s.TooLong(), want)
		}
		if s.Held() > 300 {
			t.Errorf("%d bytes held", s.Held())
		}
	}
	f("data: "+strings.Repeat("x", 94)+"\n\n", false)
	f("data: "+strings.Repeat("x", 95)+"\n\n", true)
	f(strings.Repeat("data: 123456789\n", 11), true)
	f(strings.Repeat("data: 123456789\n\n", 100), false)
}

// streams are for the cut test and the fuzzer.
var streams = []string{
	"data: a\n\ndata: b\n\n", "\xef\xbb\xbfdata: {\"x\":1}\r\n\r\n: k\r\n\r\ndata: {\r\ndata: }\r\n\r\ndata: [DONE]",
	"data: a\r\rdata: b\r\r", "event: x\ndata:1\ndata:2\n\nid\ndata\n\ndata: y\n", "data: \n\ndata:\ndata:\n\n",
}

func TestCutsDoNotMatter(t *testing.T) {
	for _, in := range streams {
		want := fmt.Sprint(scan(new(Scanner), in))
		if have := fmt.Sprint(scan(new(Scanner), strings.Split(in, "")...)); have != want {
			t.Errorf("%q rune by rune: got %s, want %s", in, have, want)
		}
		for i := range in {
			if have := fmt.Sprint(scan(new(Scanner), in[:i], in[i:])); have != want {
				t.Errorf("%q cut at %d: got %s, want %s", in, i, have, want)
			}
		}
	}
}

// plainly reads a whole stream the slow way.
func plainly(in string) (out []string) {
	in = strings.TrimPrefix(in, "\xef\xbb\xbf")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	var data []string
	flush := func() {
		if d := strings.Join(data, "\n"); d != "" {
			out = append(out, d)
		}
		data = nil
	}
	lines := strings.Split(in, "\n")
	for i, l := range lines {
		name, value, colon := strings.Cut(l, ":")
		switch {
		case l == "" && i < len(lines)-1:
			flush()
		case (name == "data" || name == "error") && colon:
			data = append(data, strings.TrimPrefix(value, " "))
		case name == "data" || name == "error":
			data = append(data, "")
		}
	}
	if data != nil {
		out = append(out, strings.Join(data, "\n"))
	}
	return out
}

func FuzzScanner(f *testing.F) {
	for i, s := range streams {
		f.Add(s, uint8(i))
	}
	f.Fuzz(func(t *testing.T, in string, cut uint8) {
		if strings.HasPrefix(in, "\xef") && !strings.HasPrefix(in, "\xef\xbb\xbf") {
			return // no text at all
		}
		events := scan(new(Scanner), in)
		for _, e := range events {
			for i, at := range e.at {
				if b := e.data[i]; in[at] != b && b != '\n' {
					t.Fatalf("%q: byte %d of %q is said to be at %d", in, i, e.data, at)
				}
			}
		}
		if have, want := datas(events), plainly(in); !slices.Equal(have, want) {
			t.Fatalf("%q: got %q, want %q", in, have, want)
		}
		var pieces []string
		for p := in; len(p) > 0; {
			n := min(len(p), 1+int(cut)%7)
			pieces = append(pieces, p[:n])
			p = p[n:]
		}
		if have, want := fmt.Sprint(scan(new(Scanner), pieces...)), fmt.Sprint(events); have != want {
			t.Fatalf("%q in pieces: got %s, want %s", in, have, want)
		}
	})
}

func BenchmarkScanner(b *testing.B) {
	ev := []byte("data: " + strings.Repeat("x", 382) + "\n\n")
	b.SetBytes(int64(len(ev)))
	b.ReportAllocs()
	s := new(Scanner)
	for b.Loop() {
		for p := ev; len(p) > 0; {
			n, _ := s.Feed(p)
			p = p[n:]
		}
	}
}
