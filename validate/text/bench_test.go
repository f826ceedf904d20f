package text

import (
	"strings"
	"testing"
)

// Ordinary texts.
var ordinary = map[string]string{
	"prose":   strings.Repeat("The quick brown fox jumps over the lazy dog, and nobody minds. ", 3) + numbered(150),
	"russian": strings.Repeat("Съешь ещё этих мягких французских булок, да выпей чаю. ", 1) + numbers("Съешь ещё этих мягких французских булок", 80),
	"chinese": numbers("天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。", 120),
}

func numbers(s string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(s)
		b.WriteString(strings.Repeat("9", i%7))
		b.WriteByte('a' + byte(i%23))
		b.WriteByte('\n')
	}
	return b.String()
}

func BenchmarkDetector(b *testing.B) {
	for name, text := range ordinary {
		for what, size := range map[string]int{"whole": 1 << 20, "deltas": 6} {
			b.Run(name+"/"+what, func(b *testing.B) {
				data, p, d := []byte(text), new(Prompt), new(Detector)
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					d.Reset(p)
					for p := data; len(p) > 0; {
						k := min(size, len(p))
						d.Write(p[:k])
						p = p[k:]
					}
					d.Finish()
				}
			})
		}
	}
}

func TestDetectorAllocatesNothing(t *testing.T) {
	p, d := new(Prompt), new(Detector)
	var data []byte
	for _, text := range corpus() {
		data = append(data, text...)
	}
	n := testing.AllocsPerRun(10, func() {
		d.Reset(p)
		d.Write(data)
		d.Next()
		d.Write(data)
		d.Finish()
	})
	if n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
