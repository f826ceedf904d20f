package text

import (
	"strings"
	"testing"
)

// ordinary are texts that do not repeat themselves, and one that nearly does.
var ordinary = map[string]string{
	"prose":   shuffled("the quick brown fox jumps over lazy dogs and nobody minds what it does again, so they say. "),
	"russian": shuffled("съешь ещё этих мягких французских булок да выпей же чаю, сказал он и ушёл домой. "),
	"chinese": shuffled("天地玄黄， 宇宙洪荒。 日月盈昃， 辰宿列张。 寒来 暑往， 秋收 冬藏。 "),
	"table":   numbered(150),
}

// shuffled is about 8 KiB of the words of a sentence, in no order.
func shuffled(sentence string) string {
	words := strings.Fields(sentence)
	var b strings.Builder
	for x := uint32(1); b.Len() < 8<<10; x = x*1664525 + 1013904223 {
		b.WriteString(words[int(x>>16)%len(words)])
		b.WriteByte(' ')
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

func BenchmarkPrompt(b *testing.B) {
	data, p := []byte(ordinary["prose"]), new(Prompt)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		p.Write(data)
	}
}
