package main

import (
	"os"
	"runtime"
)

// besideLoops is how many threads at once run Go beside those of -loops: they
// accept, send requests, relay what does not stream and make verdicts. On a host
// with hundreds of processors the runtime would have as many, which look for work
// from one another whenever there is little, and it is the inference server's
// time that they take.
const besideLoops = 7

// boundThreads bounds them, unless somebody set GOMAXPROCS.
func (o *options) boundThreads() {
	if n := threads(runtime.GOMAXPROCS(0), o.loops, os.Getenv("GOMAXPROCS")); n < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(n)
	}
}

// threads is how many there may be where the runtime would have so many.
func threads(have, loops int, set string) int {
	if set != "" {
		return have
	}
	return min(have, max(loops, 1)+besideLoops)
}
