package markup

import (
	"strings"
	"testing"
)

// prose, code and page are ordinary texts, the last one with many tags.
var (
	prose = strings.Repeat("The quick brown fox jumps over the lazy dog, and nobody minds. It does so again.\n", 100)
	code  = strings.Repeat("\tfor i := 0; i < len(b[x]); i++ {\n\t\tif f(b[i]) == '<' { return fmt.Errorf(\"no %q\", b) }\n\t}\n", 100)
	page  = strings.Repeat("<div class=\"x\"><a href=\"/t\">Tom</a> <span>and</span> Jerry</div>\n", 100)
)

func BenchmarkScanner(b *testing.B) {
	r := rules("Do something.", "run_shell")
	for name, text := range map[string]string{"prose": prose, "code": code, "page": page} {
		for what, size := range map[string]int{"whole": 1 << 20, "deltas": 6} {
			b.Run(name+"/"+what, func(b *testing.B) {
				data, s := []byte(text), new(Scanner)
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					s.Reset(r, Content)
					for p := data; len(p) > 0; {
						k := min(size, len(p))
						s.Write(p[:k])
						p = p[k:]
					}
					s.Finish()
				}
			})
		}
	}
}

func TestScannerAllocatesNothing(t *testing.T) {
	r, s := rules("Do something.", "run_shell"), new(Scanner)
	data := []byte(prose + code + page + "<tool_call>{\"name\": \"run_shell\", \"arguments\": {}}</tool_call><|im_end|>")
	n := testing.AllocsPerRun(10, func() {
		s.Reset(r, Content)
		s.Write(data)
		s.Next(Value)
		s.Write(data)
		s.Finish()
	})
	if n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func BenchmarkLearn(b *testing.B) {
	data, s, seen := []byte(prose+code), new(Scanner), new(Seen)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		s.Learn(seen)
		s.Write(data)
		s.Finish()
	}
}
