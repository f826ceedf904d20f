package echo

import (
	"fmt"
	"testing"
)

// learn takes in n values of a parameter, in clean turns.
func learn(h *Habits, p Parameter, n int, isCopy bool) {
	for range n {
		h.Learn([]Seen{{Parameter: p, Copy: isCopy}}, true)
	}
}

func TestParameterBecomesSure(t *testing.T) {
	h := NewHabits(1 << 16)
	p, free := h.Parameter(h.Tool("m", "pay"), []byte("/amount")), h.Parameter(h.Tool("m", "ask"), []byte("/query"))
	f := func(what string, p Parameter, want bool) {
		t.Helper()
		if got := h.Sure(p); got != want {
			t.Errorf("%s: got sure %v, want %v", what, got, want)
		}
	}
	f("never seen", p, false)
	learn(h, free, 100, false)
	learn(h, p, sureAfter-1, true)
	f("not often enough", p, false)
	learn(h, p, 1, true)
	f("often enough", p, true)
	f("never a copy", free, false)
	learn(h, p, 1, false)
	f("once none", p, false)
	learn(h, p, sureSoon, true)
	f("copies since, beside parameters that are none", p, false)
	learn(h, p, sureAfter, true)
	h.Learn([]Seen{{Parameter: p, Told: true}}, false)
	f("one was told", p, true)
	for range tellAtMost {
		h.Learn([]Seen{{Parameter: p, Told: true}}, false)
	}
	f("most were told", p, false)
}

// TestModelThatOnlyCopiesIsSureSoon, but of no parameter that is told again and
// again before it was ever a copy.
func TestModelThatOnlyCopiesIsSureSoon(t *testing.T) {
	h := NewHabits(1 << 16)
	for i := range 20 {
		learn(h, h.Parameter(h.Tool("m", "a"), []byte(fmt.Sprint("/", i))), 10, true)
	}
	p := h.Parameter(h.Tool("m", "b"), []byte("/y"))
	if !h.Sure(p) || h.Sure(h.Parameter(h.Tool("other", "b"), []byte("/y"))) {
		t.Errorf("never seen: got sure %v of a model that copies and %v of another", h.Sure(p), h.Sure(h.Parameter(h.Tool("other", "b"), []byte("/y"))))
	}
	told := 0
	for ; h.Sure(p) && told < 100; told++ {
		h.Learn([]Seen{{Parameter: p, Told: true}}, false)
	}
	if told > tellUnseen+1 {
		t.Errorf("a parameter that is never a copy: got told %d times, want at most %d", told, tellUnseen+1)
	}
}

// TestHabitsAreBounded: of many parameters those used last are remembered.
func TestHabitsAreBounded(t *testing.T) {
	h := NewHabits(64 << 10)
	name := func(i int) Parameter { return h.Parameter(h.Tool("m", "tool"), []byte(fmt.Sprint(i))) }
	learn(h, h.Parameter(h.Tool("m", "noise"), []byte("")), 40, false)
	for i := range 100_000 {
		learn(h, name(i), 1, true)
	}
	if n := len(h.sets) * ways; n > 64<<10/32 {
		t.Errorf("got room for %d, want at most %d", n, 64<<10/32)
	}
	if h.find(name(99_999).key) == nil || h.find(name(0).key) != nil {
		t.Error("got the first remembered, or the last forgotten")
	}
}

// TestFalseDiscoveryIsBounded: the bound is 1 until a calm stretch was seen,
// then holds the calm rate against the latest one, and never promises more than
// the truth.
func TestFalseDiscoveryIsBounded(t *testing.T) {
	h := NewHabits(1 << 16)
	p := h.Parameter(h.Tool("m", "pay"), []byte("/amount"))
	f := func(what string, n, every int, low, high float64) {
		t.Helper()
		for i := range n {
			told := every > 0 && i%every == 0
			h.Learn([]Seen{{Parameter: p, Copy: !told, Told: told}}, !told)
		}
		if got := h.FalseDiscovery(); got < low || got > high {
			t.Errorf("%s: got %.3f, want between %v and %v", what, got, low, high)
		}
	}
	f("one in a hundred from the start", 1000, 100, 1, 1)
	f("a stretch with one in a thousand, and no more", 2*stretch, 1000, 1, 1)
	f("then one in ten, of which one in a hundred is wrong", 2000, 10, 0.01, 0.10)
	f("a stretch without any", 2*stretch, 0, 1, 1)
	f("one in ten again", 2000, 10, 0.001, 0.05)
}
