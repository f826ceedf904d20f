// Command turnwatch relays between agents and an SGLang server, unchanged, and
// judges every turn that passes.
//
// Exit codes: 0 after a drain that a signal asked for, 2 when it could not
// start or had to stop, 3 when a second signal cut the drain short.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// The exit codes.
const (
	exitGood        = 0
	exitUnable      = 2
	exitInterrupted = 3
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole command. It ends with ctx as it does with a signal.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	f := newFlags(&o)
	l, err := f.load(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.usage(stdout)
		return exitGood
	case err != nil:
		return complain(stderr, err)
	case o.version:
		fmt.Fprintln(stdout, "turnwatch", version(), runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
		return exitGood
	}
	for _, w := range append(l.warnings, o.tiny()...) {
		fmt.Fprintln(stderr, "turnwatch:", w)
	}
	if o.checkConfig {
		f.print(stdout, l)
	}
	if err := o.check(l); err != nil {
		return complain(stderr, err)
	}
	o.args, o.inUse = args, f.values()
	return o.run(ctx, stderr)
}

// run builds what the settings describe and serves until it is told to stop.
func (o *options) run(ctx context.Context, stderr io.Writer) (code int) {
	s, err := o.prepare(stderr)
	if err != nil {
		return complain(stderr, err)
	}
	if o.checkConfig {
		return exitGood
	}
	keepHeapFloor()
	o.boundThreads()
	sig, stop := notify()
	defer stop()
	s.lines.begin()
	defer func() { s.endLog(code, sig) }()
	if err := s.open(); err != nil {
		return complain(stderr, err)
	}
	return s.serve(ctx, sig)
}

// complain writes each error on a line, and below it what may help.
func complain(stderr io.Writer, err error) int {
	errs := []error{err}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		errs = many.Unwrap()
	}
	for _, err := range errs {
		fmt.Fprintln(stderr, "turnwatch:", err)
		if h := (hinted{}); errors.As(err, &h) {
			fmt.Fprintln(stderr, "turnwatch: hint:", h.hint)
		}
	}
	return exitUnable
}

// stamped is the version that a release build sets with -ldflags -X.
var stamped string

// version is the stamped version, else what the build recorded of itself.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && stamped == "" {
		return info.Main.Version
	}
	return stamped
}
