package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"turnwatch/proxy/turn"
)

// outline tells what Read yields: a turn as its number, an error as its line,
// offset and fault.
func outline(r io.Reader) string {
	var b strings.Builder
	for t, err := range Read(r) {
		var bad *LineError
		switch {
		case errors.As(err, &bad):
			fmt.Fprintf(&b, "%d@%d:%s ", bad.Line, bad.Offset, fault(bad.Err))
		case err != nil:
			fmt.Fprintf(&b, "error: %v ", err)
		default:
			fmt.Fprintf(&b, "%d ", t.Number)
		}
	}
	return strings.TrimSpace(b.String())
}

func fault(err error) string {
	for name, is := range map[string]error{"torn": ErrTorn, "long": ErrTooLong, "version": ErrVersion} {
		if errors.Is(err, is) {
			return name
		}
	}
	return "bad"
}

func TestRead(t *testing.T) {
	long := `{"v":1,"turn":4,"model":"` + strings.Repeat("m", MaxLine) + `"}`
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"turns", "{\"v\":1,\"turn\":1}\n{\"v\":1,\"turn\":2}\n", "1 2"},
		{"no last newline", `{"v":1,"turn":1}`, "1"},
		{"carriage returns and blank lines", "{\"v\":1,\"turn\":1}\r\n\r\n\n{\"v\":1,\"turn\":2}\r\n", "1 2"},
		{"unknown fields", `{"v":1,"turn":1,"new":{"type":"x"},"findings":[{"kind":"k","more":1}]}`, "1"},
		{"unknown words", `{"v":1,"turn":1,"verdict":"odd","arm":"third","ending":"?"}`, "1"},
		{"other types", "{\"type\":\"config_change\",\"turn\":\"x\"}\n{\"v\":1,\"turn\":1}\n{\"type\":7}\n", "1"},
		{"torn at the end", "{\"v\":1,\"turn\":1}\n{\"v\":1,\"tu", "1 2@17:torn"},
		{"torn in the middle", "{\"v\":1,\"mod\n{\"v\":1,\"turn\":1}\n", "1@0:torn 1"},
		{"torn after a brace", "{\"v\":1,\"tags\":{\"a\":{}\n", "1@0:torn"},
		{"not JSON", "\n{\"v\":1,\"turn\":1}}\nx\n{\"v\":1,\"turn\":2}", "2@1:bad 3@19:bad 2"},
		{"not an object", "[1]\n\"a\"\nnull\n7", "1@0:bad 2@4:bad 3@8:bad 4@13:bad"},
		{"another object", `{"msg":"hello"}`, "1@0:bad"},
		{"wrong type of a field", "{\"v\":1,\"status\":\"x\"}\n{\"v\":1,\"turn\":2}", "1@0:bad 2"},
		{"newer", "{\"v\":2,\"status\":{}}\n{\"v\":1,\"turn\":2}", "1@0:version 2"},
		{"too long", "{\"v\":1,\"turn\":1}\n" + long + "\n{\"v\":1,\"turn\":2}\n", "1 2@17:long 2"},
		{"too long and torn", long[:MaxLine+1], "1@0:long"},
		{"NUL bytes of a lost page", "{\"v\":1,\"turn\":1}\n\x00\x00\x00\n{\"v\":1,\"turn\":2}\n", "1 2@17:bad 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outline(strings.NewReader(c.in)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := outline(iotest.HalfReader(strings.NewReader(c.in))); got != c.want {
				t.Errorf("in pieces: got %s, want %s", got, c.want)
			}
		})
	}
}

func TestReadPassesOnTheErrorOfItsReader(t *testing.T) {
	in := io.MultiReader(strings.NewReader("{\"v\":1,\"turn\":1}\n{\"v\""), iotest.ErrReader(errors.New("cable cut")))
	if got, want := outline(in), "1 2@17:torn error: read journal after line 2: cable cut"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReadStopsWhenTheCallerDoes(t *testing.T) {
	for tt, err := range Read(strings.NewReader("{\"v\":1,\"turn\":1}\nx\n{\"v\":1,\"turn\":2}")) {
		if err == nil && tt.Number == 1 {
			continue
		}
		if err == nil {
			t.Errorf("got turn %d after a break", tt.Number)
		}
		break
	}
}

func TestReadFilesSaysWhatIsMissing(t *testing.T) {
	f := func(path, want string) {
		t.Helper()
		if ns, errs := numbers(path); ns != nil || len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%s: got %v, errors %v; want one with %q", path, ns, errs, want)
		}
	}
	f(t.TempDir()+"/none", "none: no such file")
	f(t.TempDir()+"/none/none", "none: no such file")
}

func FuzzRead(f *testing.F) {
	line := record(3).AppendJSON(nil)
	f.Add(line)
	f.Add(append(append(line[:len(line)/2:len(line)/2], '\n'), line...))
	f.Add([]byte("{\"type\":\"x\"}\n\n{\"v\":2}\n{}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		lines, last, turns := bytes.Count(in, []byte{'\n'})+1, 0, []byte(nil)
		for got, err := range Read(bytes.NewReader(in)) {
			var bad *LineError
			if (got == nil) == (err == nil) {
				t.Fatalf("got turn %v and error %v", got, err)
			}
			if err == nil {
				if line := append(got.AppendJSON(nil), '\n'); len(line) <= MaxLine {
					turns = append(turns, line...)
				}
				continue
			}
			if !errors.As(err, &bad) || bad.Line <= last || bad.Line > lines || bad.Offset > int64(len(in)) {
				t.Fatalf("got %v after line %d of %d", err, last, lines)
			}
			last = bad.Line
		}
		rewritten(t, turns)
	})
}

// rewritten fails unless turns, once written, are read back to the same bytes.
func rewritten(t *testing.T, turns []byte) {
	t.Helper()
	var again []byte
	for got, err := range Read(bytes.NewReader(turns)) {
		if err != nil {
			t.Fatalf("a line that we wrote: %v", err)
		}
		again = append(got.AppendJSON(again), '\n')
	}
	if !bytes.Equal(again, turns) {
		t.Fatalf("got  %s\nwant %s", again, turns)
	}
}

func BenchmarkRead(b *testing.B) {
	r := record(1)
	r.Tags = map[string]turn.Tag{"batch": {Value: "17", Source: "poll"}}
	r.Time = time.Unix(1, 0)
	lines := bytes.Repeat(append(r.AppendJSON(nil), '\n'), b.N)
	b.SetBytes(int64(len(lines) / b.N))
	b.ReportAllocs()
	b.ResetTimer()
	for _, err := range Read(bytes.NewReader(lines)) {
		if err != nil {
			b.Fatal(err)
		}
	}
}
