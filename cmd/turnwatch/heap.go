package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapFloor is how large the heap may grow before the garbage collector runs
// at all. A relay keeps little, and would collect dozens of times a second.
const heapFloor = 32 << 20

// The collector's own defaults: how much the heap may grow between two
// collections, in percent, and the size below which it never collects.
const (
	heapGrowth  = 100
	heapMinimum = 4 << 20
)

// keepHeapFloor lets the collector wait for heapFloor from now on, unless
// somebody set GOGC. GOMEMLIMIT holds as ever.
func keepHeapFloor() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth * heapFloor / heapMinimum)
		afterCollection()
	}
}

// afterCollection sees that the next collection comes when the heap has doubled,
// but not below the floor, and comes back behind it.
func afterCollection() {
	type sentinel struct{ _ [16]byte }
	runtime.AddCleanup(new(sentinel), func(int) {
		debug.SetGCPercent(growth(liveHeap()))
		afterCollection()
	}, 0)
}

// growth is by how many percent a heap of so many bytes in use may grow.
func growth(live uint64) int {
	const most = heapGrowth * heapFloor / heapMinimum
	return int(min(most, max(heapGrowth, (heapFloor-int64(live))*100/max(1, int64(live)))))
}

// liveHeap is how many bytes the last collection left.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
