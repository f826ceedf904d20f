// Command turnreport reads journals and says how often turns were corrupted,
// under which conditions, and what that proves.
//
// Exit codes: 0 when what was judged is sound, 1 when a turn is corrupted (of
// two sides compared: the second is worse), 2 when it could not run or nothing
// could be read, 3 when nothing was judged or nothing is decided.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// std is what a command runs with.
type std struct {
	in       io.Reader
	out, err io.Writer
}

// command is what turnreport can do, by the first argument.
type command struct {
	name string
	args string // as the help shows them
	help string // in a line
	run  func(ctx context.Context, args []string, s std) int
}

// commands lists them. Without the name of one, turnreport reports.
func commands() []command {
	return []command{
		{"issue", "[-journal JOURNAL] EVIDENCE...", "a bug report from the evidence of corrupted turns, without what was said", issueMain},
		{"shadow", "[flags] JOURNAL...", "what shadow traffic has shown of a candidate", shadowMain},
		{"gate", "-shadow [flags] JOURNAL...", "exit 0 to promote, 1 to roll back, 3 to wait", gateMain},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], std{os.Stdin, os.Stdout, os.Stderr}))
}

func run(ctx context.Context, args []string, s std) int {
	if len(args) > 0 {
		for _, c := range commands() {
			if c.name == args[0] {
				return c.run(ctx, args[1:], s)
			}
		}
	}
	return reportMain(ctx, args, s)
}

// fail says what could not be done.
func (s std) fail(err error) {
	fmt.Fprintf(s.err, "turnreport: %v\n", err)
}
