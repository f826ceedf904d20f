// Command turnstress reproduces corruption: it plays agent sessions whose right
// answers are known against any OpenAI-compatible server, judges every answer
// as turnwatch does, and says what the counts prove and what they do not.
//
// Exit codes: 0 good, 1 corrupted (with two targets: the second is worse), 2
// when it could not run, 3 undecided, or interrupted before the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"turnwatch/cmd/internal/replay"
)

// The exit codes.
const (
	exitGood      = 0
	exitCorrupted = 1
	exitUnable    = 2
	exitUndecided = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends us at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command is a subcommand. It is given the arguments after its name and returns
// the exit code; an error is written for it, and means exitUnable.
type command struct {
	name, brief string
	run         func(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error)
}

// commands are the subcommands, in the order of the help. Without a name, the
// first is meant.
func commands() []command {
	return []command{
		{"run", "play sessions against one server, or two to compare them; the default", runSessions},
		{"plan", "say how many sessions it takes", runPlan},
		{"matrix", "run sessions against a server under many configurations", runMatrix},
		{"scenarios", "list the scenarios that come with it, or print one", runScenarios},
		{"replay", "send recorded requests again and count what comes back corrupted", replay.Replay},
		{"serve", "play recorded answers to any client, with their own timing", replay.Serve},
	}
}

// listCommands lists the subcommands for the help.
func listCommands() string {
	var b strings.Builder
	for _, c := range commands() {
		fmt.Fprintf(&b, "  turnstress %-10s %s\n", c.name, c.brief)
	}
	return b.String()
}

// run finds the subcommand and runs it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	all := commands()
	c := all[0]
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		found := find(all, args[0])
		if found == nil {
			fmt.Fprintf(stderr, "turnstress: there is no command %q; turnstress -h lists them\n", args[0])
			return exitUnable
		}
		c, args = *found, args[1:]
	}
	code, err := c.run(ctx, args, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitGood
	case err != nil:
		fmt.Fprintf(stderr, "turnstress: %v\n", err)
		return exitUnable
	}
	return code
}

func find(all []command, name string) *command {
	for i := range all {
		if all[i].name == name {
			return &all[i]
		}
	}
	return nil
}

// parse reads the flags of a subcommand. With -h it writes intro and the flags
// to stdout and returns flag.ErrHelp.
func parse(fs *flag.FlagSet, args []string, intro string, stdout io.Writer) error {
	fs.SetOutput(io.Discard)
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, intro)
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return err
	}
	if err != nil {
		return fmt.Errorf("%w; -h shows the flags", err)
	}
	return nil
}
