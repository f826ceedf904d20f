package echo

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// conversation is about n bytes of a request as agents send them: words,
// paths, identifiers, numbers.
func conversation(n int) []byte {
	r := rand.New(rand.NewPCG(7, 7))
	words := bytes.Fields([]byte("the file reads a list of orders and writes totals by region for each day return error if nil func range value index result user content tool call arguments true false null line path open close"))
	b := []byte(`{"model":"m","messages":[{"role":"user","content":"`)
	for len(b) < n {
		switch r.IntN(12) {
		case 0:
			b = fmt.Appendf(b, `src/%s_%x/%s.go:%d `, words[r.IntN(len(words))], r.IntN(1<<16), words[r.IntN(len(words))], r.IntN(900))
		case 1:
			b = fmt.Appendf(b, `ORD-%05d `, r.IntN(99999))
		case 2:
			b = fmt.Appendf(b, `%d.%02d\n`, r.IntN(9999), r.IntN(100))
		default:
			b = append(append(b, words[r.IntN(len(words))]...), ' ')
		}
	}
	return append(b, `"}]}`...)
}

// BenchmarkSource is what it takes to index a request, a byte.
func BenchmarkSource(b *testing.B) {
	for _, n := range []int{4 << 10, 100 << 10, 1 << 20} {
		for _, m := range []*Memory{nil, NewMemory(8 << 20)} {
			benchmarkSource(b, n, m)
		}
	}
}

func benchmarkSource(b *testing.B, n int, m *Memory) {
	{
		b.Run(fmt.Sprintf("%d-%v", n, m != nil), func(b *testing.B) {
			text := conversation(n)
			var s Source
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				s.Reset(text, m)
				s.index()
			}
			b.ReportMetric(float64(s.Held()+len(text))/float64(len(text)), "held/B")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/B")
		})
	}
}

// BenchmarkJudge is what it takes to look for the values of a turn, once the
// request is indexed.
func BenchmarkJudge(b *testing.B) {
	text := conversation(100 << 10)
	var s Source
	s.Reset(text, nil)
	copied := s.text[len(text)/2:][:20]
	for name, values := range map[string][]Value{
		"copy":   {{Text: bytes.Fields(text)[800]}},
		"phrase": {{Text: copied}},
		"none":   {{Text: []byte("nothing like it")}},
		"short":  {{Text: []byte("ZQX")}},
		"near":   {{Text: []byte("src/orders_ffff/range_12ab.go")}},
		"number": {{Text: []byte("123456.75"), Number: true}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.effort = 1 << 30
				s.Judge(values)
			}
		})
	}
}

// BenchmarkFew is what it takes to look for a few values in a short request that
// is not indexed, and for many.
func BenchmarkFew(b *testing.B) {
	text := append(conversation(4<<10), `,"tools":[{"type":"function","function":{"name":"find","parameters":{"properties":{"class":{"enum":["economy","business"]}}}}}]}`...)
	few := []Value{{Text: []byte("economy")}, {Text: []byte("region")}, {Text: []byte("writes")}}
	var many []Value
	for i, w := range bytes.Fields(text)[10:] {
		if i%5 == 0 && len(w) < 16 {
			many = append(many, Value{Text: w})
		}
	}
	for name, values := range map[string][]Value{"one": few[:1], "few": few, "many": many, "none": {{Text: []byte("nothing")}}, "number": {{Text: []byte("123456.75"), Number: true}}} {
		b.Run(name, func(b *testing.B) {
			var s Source
			b.ReportAllocs()
			for b.Loop() {
				s.Reset(text, nil)
				s.Judge(values)
			}
		})
	}
}

// BenchmarkReader is what it takes to read an event's piece of text.
func BenchmarkReader(b *testing.B) {
	var r Reader
	piece := []byte(" forecast")
	b.ReportAllocs()
	for b.Loop() {
		r.Read(piece)
	}
}
