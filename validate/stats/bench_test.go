package stats

import "testing"

func BenchmarkUpper(b *testing.B) {
	for b.Loop() {
		Upper(6, 40, 0.95)
	}
}

func BenchmarkFisher(b *testing.B) {
	for b.Loop() {
		Fisher(Arm{6, 40}, Arm{2, 40})
	}
}

func BenchmarkSequence(b *testing.B) {
	for b.Loop() {
		Prior{}.Sequence(6, 40, 0.95)
	}
}
