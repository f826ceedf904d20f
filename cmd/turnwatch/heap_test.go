package main

import (
	"runtime"
	"testing"
)

func TestHeapGrowth(t *testing.T) {
	f := func(live uint64, want int) {
		t.Helper()
		if got := growth(live); got != want {
			t.Errorf("%d bytes in use: got %d%%, want %d%%", live, got, want)
		}
	}
	f(0, 800)
	f(1<<20, 800)
	f(8<<20, 300)
	f(16<<20, 100)
	f(32<<20, 100)
	f(64<<20, 100)
	f(1<<40, 100)
	runtime.GC()
	if liveHeap() == 0 {
		t.Error("got no heap in use behind a collection")
	}
}
