package schema

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// editSchema is the tool of an agent that edits files, and editArgs a call of it.
const (
	editSchema = `{"type":"object","properties":{"path":{"type":"string","description":"file"},"mode":{"type":"string","enum":["replace","append","prepend"]},"edits":{"type":"array","minItems":1,"items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"},"line":{"type":"integer","minimum":1},"all":{"type":"boolean"}},"required":["old","new"],"additionalProperties":false}},"dry_run":{"type":"boolean"},"limit":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["path","edits"],"additionalProperties":false}`
	editArgs   = `{"path":"src/server/handler.go","mode":"replace","edits":[{"old":"return nil, err","new":"return nil, fmt.Errorf(\"read %s: %w\", name, err)","line":118},{"old":"if n > 0 {","new":"if n > 0 && !done {","line":204,"all":false},{"old":"// fall through","new":"","line":231}],"dry_run":false,"limit":null}`
	writeTool  = `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`
)

// benchmarks are schemas with texts that conform.
func benchmarks() map[string][2]string {
	code := `{"path":"src/main.go","content":"` + strings.Repeat(`func main() {\n\tfmt.Println(\"hello\")\n}\n`, 200) + `"}`
	row := `{"old":"a","new":"b","line":12,"all":true},`
	dense := `{"path":"p","edits":[` + strings.TrimSuffix(strings.Repeat(row, 190), ",") + `]}`
	return map[string][2]string{"edit": {editSchema, editArgs}, "code": {writeTool, code}, "dense": {editSchema, dense}}
}

func BenchmarkChecker(b *testing.B) {
	for name, in := range benchmarks() {
		s, text := Compile([]byte(in[0])), []byte(in[1])
		for size, n := range map[string]int{"whole": len(text), "in4": 4} {
			b.Run(name+"/"+size, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				c, budget := s.Checker(NewBudget()), NewBudget()
				defer cpuPerByte(b, len(text))()
				for b.Loop() {
					budget.left = steps
					c.Free()
					c = s.Checker(budget)
					for p := text; len(p) > 0; {
						k := min(n, len(p))
						c.Feed(p[:k])
						p = p[k:]
					}
					if found, st := c.Finish(text); st != Ready || len(found) > 0 {
						b.Fatal(st, found)
					}
				}
			})
		}
	}
}

// cpuPerByte reports the CPU time that each byte took, once the returned function
// is called. Other work on the machine does not count.
func cpuPerByte(b *testing.B, n int) func() {
	runtime.LockOSThread()
	begin := spent(b)
	return func() {
		b.ReportMetric(float64((spent(b)-begin).Nanoseconds())/float64(b.N*n), "cpu-ns/byte")
		runtime.UnlockOSThread()
	}
}

// BenchmarkOthers is what others take for the same, the text being decoded first.
func BenchmarkOthers(b *testing.B) {
	for name, in := range benchmarks() {
		doc, err := decode([]byte(in[0]))
		if err != nil {
			b.Fatal(err)
		}
		sch, text := build(doc, engine, deny{}), []byte(in[1])
		b.Run(name+"/library", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			defer cpuPerByte(b, len(text))()
			for b.Loop() {
				v, err := decode(text)
				if err != nil || sch.Validate(v) != nil {
					b.Fatal("does not conform")
				}
			}
		})
		b.Run(name+"/encoding_json", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			defer cpuPerByte(b, len(text))()
			for b.Loop() {
				var v any
				if json.Unmarshal(text, &v) != nil {
					b.Fatal("no JSON")
				}
			}
		})
		b.Run(name+"/encoding_json_valid", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			defer cpuPerByte(b, len(text))()
			for b.Loop() {
				if !json.Valid(text) {
					b.Fatal("no JSON")
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.Run("program", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if Compile([]byte(editSchema)).Status() != Ready {
				b.Fatal("does not compile")
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			doc, err := decode([]byte(editSchema))
			if err != nil || build(doc, engine, deny{}) == nil {
				b.Fatal("does not compile")
			}
		}
	})
}

// TestCheckerAllocatesNothing holds that a checker that has seen such values
// before allocates nothing for more of them.
func TestCheckerAllocatesNothing(t *testing.T) {
	for name, in := range benchmarks() {
		s, text := Compile([]byte(in[0])), []byte(in[1])
		c, b := s.Checker(NewBudget()), NewBudget()
		got := testing.AllocsPerRun(100, func() {
			*b = Budget{left: steps}
			c.renew() // not by way of the pool, which forgets things
			c.of(s, b)
			c.Feed(text)
			if found, st := c.Finish(text); st != Ready || len(found) > 0 {
				t.Fatal(st, found)
			}
		})
		if got != 0 {
			t.Errorf("%s: got %v allocations, want 0", name, got)
		}
	}
}
