package main

import "testing"

func TestThreads(t *testing.T) {
	f := func(have, loops int, set string, want int) {
		t.Helper()
		if got := threads(have, loops, set); got != want {
			t.Errorf("%d processors, %d loops, GOMAXPROCS=%q: got %d, want %d", have, loops, set, got, want)
		}
	}
	f(2, 1, "", 2)
	f(192, 1, "", 8)
	f(192, 0, "", 8)
	f(192, 4, "", 11)
	f(192, 1, "192", 192)
}
