// Command turndemo shows in a minute what turnwatch does: it starts simulated
// SGLang servers of which one corrupts tool calls, puts the sidecar in front of
// them, plays agent sessions and prints what the sidecar's journal says. It
// needs nothing but Go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags.
type options struct {
	sessions    int
	concurrency int
	step        time.Duration
	seed        uint64
	share       float64
	keep        bool
	html        string
}

const intro = `turndemo plays agent sessions against four simulated SGLang servers, each behind
turnwatch, and prints what turnwatch's journals say of them. One of the servers
corrupts tool calls. It ends with turnreport's findings and writes its page.
Everything runs in this process, on loopback.

It exits with 0 when the journals name exactly the turns that the simulator
corrupted, with 1 when they do not, with 2 when it could not run.

Flags:
`

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "turndemo: %v\n", err)
		return 2
	}
	dir, err := os.MkdirTemp("", "turndemo-")
	if err != nil {
		fmt.Fprintf(stderr, "turndemo: make a folder for the journals: %v\n", err)
		return 2
	}
	if !o.keep {
		defer os.RemoveAll(dir)
	}
	right, err := play(ctx, o, dir, stdout)
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "turndemo: %v\n", err)
		return 2
	case !right:
		return 1
	}
	return 0
}

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("turndemo", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&o.sessions, "sessions", 40, "`NUMBER` of sessions for each server")
	fs.IntVar(&o.concurrency, "concurrency", 20, "`NUMBER` of sessions at a time")
	fs.DurationVar(&o.step, "step", 8*time.Millisecond, "`TIME` of a decode step")
	fs.Uint64Var(&o.seed, "seed", 3, "`SEED` of the fault: which sessions it strikes, and at which turns")
	fs.Float64Var(&o.share, "share", 0.15, "`SHARE` of sessions that the fault strikes where it can")
	fs.StringVar(&o.html, "html", "", "`FILE` for the report as a page (default: a new one in the folder for temporary files)")
	fs.BoolVar(&o.keep, "keep", false, "leave servers, sidecars and journals as they are until interrupted")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, intro)
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return o, err
	}
	switch {
	case err != nil:
		return o, err
	case fs.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; -h shows the flags", fs.Arg(0))
	case o.sessions < 1 || o.concurrency < 1:
		return o, errors.New("-sessions and -concurrency must be at least 1")
	}
	return o, nil
}

// play runs the servers one after the other. It reports whether the journals
// agree with what the simulator did.
func play(ctx context.Context, o options, dir string, stdout io.Writer) (right bool, err error) {
	p := printer{w: stdout, live: terminal(stdout)}
	p.intro(o)
	var results []*result
	defer func() {
		for _, r := range results {
			r.stand.close()
		}
	}()
	for i, c := range cells {
		s, err := start(o.config(c), fmt.Sprintf("%s/%d.jsonl", dir, i+1))
		if err != nil {
			return false, err
		}
		r := &result{cell: c, stand: s}
		results = append(results, r)
		p.begin(c)
		if err := r.measure(ctx, o, p.progress(c)); err != nil {
			return false, err
		}
		p.end(r)
	}
	right = p.story(results)
	p.detail(results)
	if err := p.report(ctx, results, o.html); err != nil {
		return false, err
	}
	p.hint(results, o.keep)
	if o.keep {
		<-ctx.Done()
	}
	return right, nil
}

// terminal reports whether w is one, so that a line can be written over.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
