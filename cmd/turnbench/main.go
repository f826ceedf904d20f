// Command turnbench measures turnwatch beside other proxies, how its cost
// grows, and that it changes no byte in an hour of mixed traffic. It needs Linux,
// and of other proxies what is to be measured of them.
//
// Exit codes: 0 when it measured, 1 when a byte differed or something leaked, 2
// when it could not measure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"turnwatch/cmd/internal/bench"
)

// The exit codes.
const (
	exitGood   = 0
	exitFound  = 1
	exitUnable = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	debug.SetGCPercent(400) // what measures should take little
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const intro = `turnbench measures turnwatch beside other proxies.

  turnbench [flags]                compares proxies in front of a simulated server
  turnbench curve [flags] NAME     how cost grows with NAME: %s
  turnbench soak [flags]           mixed traffic for long: every byte compared, leaks looked for
  turnbench memory [flags]         what silent streams hold: -streams of them, requests of -request bytes
  turnbench profile [flags]        writes -profile of turnwatch's CPU under the first of -scenario, with everything on
  turnbench guide [flags]          the same under each of -scenario, as -profile to build turnwatch by (cmd/turnwatch/default.pgo)
  turnbench table FILE...          prints what -json wrote

Server, clients and proxies run on this machine. In each round every proxy is started anew, in an order of its
own. CPU is what /proc tells of all processes of a proxy, in user and kernel mode, within the measurement, after
a warm-up: everything that they do is in it, whatever it is for. Every byte of every answer is compared. The
ratio to nginx is the median over rounds of the ratio within a round; in brackets the interval that holds the
median with 95%% confidence where there are 6 rounds or more, else what the rounds span. "added" is what is
above the median of direct. "foreign" is the share of the machine that other work took: with much of it a
comparison says little.

Scenarios, for -scenario:
%s
What is measured, for -only; what is not here is named and left out:
%s
Flags:
`

// options are the flags.
type options struct {
	scenarios, only, json string
	rounds                int
	seed                  uint64
	programs              map[string]string
	soak                  bench.Soak
	silence               bench.Silence
	profile, args         string
}

// command is what is asked for, and its arguments.
func command(args []string) (name string, rest []string) {
	if len(args) > 0 && slices.Contains([]string{"curve", "soak", "memory", "profile", "guide", "table", "serve"}, args[0]) {
		return args[0], args[1:]
	}
	return "compare", args
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	name, args := command(args)
	if name == "serve" {
		return complain(stderr, bench.Inherited(args))
	}
	o := options{programs: map[string]string{}}
	fs := o.flags(name)
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		help(fs, stdout)
		return exitGood
	case err == nil:
		err = o.do(ctx, name, fs.Args(), stdout, stderr)
	}
	return complain(stderr, err)
}

// errFound is a byte that differed, or a leak: it was told already.
var errFound = errors.New("")

func complain(stderr io.Writer, err error) int {
	switch {
	case err == nil:
		return exitGood
	case errors.Is(err, errFound):
		return exitFound
	}
	fmt.Fprintln(stderr, "turnbench:", err)
	return exitUnable
}

func (o *options) flags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet("turnbench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	rounds := 7
	if name == "curve" {
		rounds = 3
	}
	fs.StringVar(&o.scenarios, "scenario", "paced,light,fast,unary", "comma-separated `NAMES` of scenarios; all is every one")
	fs.StringVar(&o.only, "only", "", "comma-separated `NAMES` of what is measured; everything if empty")
	fs.IntVar(&o.rounds, "rounds", rounds, "`NUMBER` of rounds")
	fs.Uint64Var(&o.seed, "seed", 1, "`SEED` of the order within rounds")
	fs.StringVar(&o.json, "json", "", "`FILE` to which each measurement is appended, a JSON object a line")
	for _, p := range []string{"turnwatch", "nginx", "haproxy", "envoy", "sglang-router"} {
		o.program(fs, p)
	}
	o.soakFlags(fs)
	o.memoryFlags(fs)
	return fs
}

// program defines the flag that names a program's file.
func (o *options) program(fs *flag.FlagSet, name string) {
	where := "; where PATH finds it if empty"
	if name == "turnwatch" {
		where = "; built from the source here if empty"
	}
	fs.Func(name, "`FILE` of "+name+where, func(v string) error {
		o.programs[name] = v
		return nil
	})
}

func (o *options) do(ctx context.Context, name string, args []string, stdout, stderr io.Writer) error {
	if name != "curve" && name != "table" && len(args) > 0 {
		return fmt.Errorf("unexpected argument %q; -h shows the flags", args[0])
	}
	if name == "table" {
		return o.table(args, stdout)
	}
	done, err := o.build(ctx, stderr)
	if err != nil {
		return err
	}
	defer done()
	switch name {
	case "curve":
		return o.curve(ctx, args, stdout, stderr)
	case "soak":
		return o.endure(ctx, stdout)
	case "profile", "guide":
		return o.profiled(ctx, name == "guide")
	case "memory":
		return o.silent(ctx, stdout)
	}
	return o.compare(ctx, stdout, stderr)
}

// build builds turnwatch, unless it was named.
func (o *options) build(ctx context.Context, stderr io.Writer) (done func(), err error) {
	if o.programs["turnwatch"] != "" {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "turnbench")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "turnwatch")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "turnwatch/cmd/turnwatch")
	cmd.Stderr = stderr
	if err := cmd.Run(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("build turnwatch (-turnwatch names one that is built): %w", err)
	}
	o.programs["turnwatch"] = path
	return func() { os.RemoveAll(dir) }, nil
}

func help(fs *flag.FlagSet, w io.Writer) {
	var scenarios, targets strings.Builder
	for _, sc := range bench.Scenarios() {
		fmt.Fprintf(&scenarios, "  %-16s %s\n", sc.Name, sc.About)
	}
	for _, t := range bench.Targets(nil) {
		fmt.Fprintf(&targets, "  %-16s %s\n", t.Name, t.About)
	}
	fmt.Fprintf(w, intro, strings.Join(curves(), ", "), scenarios.String(), targets.String())
	fs.SetOutput(w)
	fs.PrintDefaults()
}
