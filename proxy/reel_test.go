package proxy

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

// TestReelGivesBackEveryPiece, whatever their sizes, and holds nothing in the
// end.
func TestReelGivesBackEveryPiece(t *testing.T) {
	var s Server
	s.budget = newBudget(64<<20, &s.stats.JudgeMemory)
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, largest := range []int{1, 10, 300, smallBuffer, 100 << 10} {
		r := reel{budget: s.budget, from: &s.buffers}
		var want []byte
		var ats []time.Duration
		for i := range 40 {
			p := bytes.Repeat([]byte{byte(i)}, 1+rnd.IntN(largest))
			at := time.Duration(i/2) * 1500 * time.Microsecond // two come at once
			if !r.add(at, p) {
				t.Fatal("no room")
			}
			if i%2 == 0 {
				ats = append(ats, at)
			}
			want = append(want, p...)
		}
		got, marks := r.body()
		if !bytes.Equal(got, want) || len(marks) != len(ats) {
			t.Fatalf("pieces of up to %d: got %d bytes and %d times, want %d and %d", largest, len(got), len(marks), len(want), len(ats))
		}
		for i, m := range marks {
			if m.At != ats[i] || got[m.Off] != byte(2*i) {
				t.Errorf("mark %d: got %+v at %d, want %v", i, m, got[m.Off], ats[i])
			}
		}
		r.free()
		if held := s.stats.JudgeMemory.Load(); held != 0 {
			t.Errorf("held in the end: got %d", held)
		}
	}
	r := reel{budget: newBudget(smallBuffer, &s.stats.JudgeMemory), from: &s.buffers}
	if !r.add(0, make([]byte, 10)) || r.add(0, make([]byte, smallBuffer)) || s.stats.JudgeMemory.Load() != 0 {
		t.Error("beyond the budget: it took more, or holds some")
	}
}
