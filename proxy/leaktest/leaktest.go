// Package leaktest fails the tests of a package that leave a goroutine behind.
package leaktest

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines that were told to end may take for it: a busy
// machine lets them wait, and fasthttp's workers look now and then only whether they
// are still wanted.
const patience = 90 * time.Second

// The goroutines of fasthttp that no server owns: its clock, one for the whole
// process, has no end, and a sweeper ends some seconds after its server.
const (
	clock   = "github.com/valyala/fasthttp.updateServerDate.func1"
	Sweeper = "github.com/valyala/fasthttp.(*workerPool).Start.func2"
)

// Tests are those of a package: a *testing.M.
type Tests interface{ Run() int }

// Main runs the tests, and ends the process as Run says.
func Main(m Tests, but ...string) { os.Exit(Run(m, but...)) }

// Run runs the tests and returns the exit code: where all passed, 1 if a goroutine
// is left that runs none of the functions named by but.
func Run(m Tests, but ...string) int { return run(m, patience, but) }

func run(m Tests, patience time.Duration, but []string) int {
	if code := m.Run(); code != 0 {
		return code
	}
	left := find(but)
	for end := time.Now().Add(patience); left != nil && time.Now().Before(end); {
		left = find(but)
	}
	if left != nil {
		fmt.Fprintln(os.Stderr, left)
		return 1
	}
	return 0
}

// find looks for a while.
func find(but []string) error {
	known := []goleak.Option{goleak.IgnoreAnyFunction(clock)}
	for _, f := range but {
		known = append(known, goleak.IgnoreAnyFunction(f))
	}
	return goleak.Find(known...)
}
