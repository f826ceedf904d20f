// Command turncheck judges recorded answers of a server as turnwatch judges
// them while they stream: for people who debug parsers, and for the CI of
// those who serve models.
//
// Exit codes: 0 when no turn is corrupted, 1 when one is, 2 when an input
// could not be read; whatever could be read is judged all the same. In a folder
// what holds no turn is passed over.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"turnwatch/validate"
)

// The exit codes.
const (
	exitGood      = 0
	exitCorrupted = 1
	exitUnable    = 2
)

const intro = `turncheck judges recorded answers as turnwatch does:

  turncheck [-json] [-request FILE] [-path PATH] FILE|FOLDER...

It reads, by their content:

  case files        {"request":…,"response":{"status":…,"chunks":[…]}}, an answer
                    that does not stream as "body", "body_text" or "body_b64"
  raw answers       status line, headers and body as the server sent them (.http),
                    or as curl -i writes them, or the events of a stream alone
                    (.sse); -request names the request, with its tools, that they
                    answer
  JSON lines        {"request":…,"response":…} on each line; the response as in a
                    case file, as the body itself, or as the text of a stream
  evidence          the folders that turnwatch -evidence -evidence-bodies makes

and every such file in a folder, gzipped or not; - is the standard input. It
prints a line for each turn, and for what is wrong the place in the body. With
-json a line is an object: id, verdict, kinds,
call_index (the first call that is wrong, or null), findings.

It exits with 1 when a turn is corrupted, with 2 when an input could not be
read, else with 0. What holds nothing to judge in a folder (other JSON, a
journal, evidence without what was said, raw answers without -request) is passed
over, and said so; a folder of nothing else could not be read.

Flags:
`

// options are the flags.
type options struct {
	json    bool
	request string
	path    string
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	code := run(os.Args[1:], out, os.Stderr)
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "turncheck: write the verdicts:", err)
		code = exitUnable
	}
	os.Exit(code)
}

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	f := flag.NewFlagSet("turncheck", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVar(&o.json, "json", false, "print a JSON object for each turn")
	f.StringVar(&o.request, "request", "", "`FILE` with the JSON of the request that raw answers answer: its body, also\nthat of evidence (request.body), or a case file")
	f.StringVar(&o.path, "path", "", "`PATH` of the API that turns belong to which do not say so (default: by the answer)")
	err := f.Parse(args)
	if err == nil {
		err = readable(f.Args())
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, intro)
		f.SetOutput(stdout)
		f.PrintDefaults()
		return exitGood
	case err != nil:
		fmt.Fprintf(stderr, "turncheck: %v; -h tells more\n", err)
		return exitUnable
	}
	return o.check(f.Args(), stdout, stderr)
}

// readable says what is wrong with the names of what is to be read. A flag behind
// a name would be taken for one more.
func readable(paths []string) error {
	if len(paths) == 0 {
		return errors.New("nothing to read: name files or folders")
	}
	for _, path := range paths {
		if len(path) > 1 && path[0] == '-' {
			return fmt.Errorf("%s stands behind a file: flags come first", path)
		}
	}
	return nil
}

// check judges everything that the paths name.
func (o *options) check(paths []string, stdout, stderr io.Writer) int {
	r := reader{memory: validate.NewSchemas(16 << 20), echoes: validate.NewEchoes(1 << 20), path: o.path, stderr: stderr, stdin: os.Stdin, pipes: map[string][]byte{}}
	if o.path != "" && !validate.Judged("POST", o.path) {
		r.fail(o.path, 0, errors.New("no turn has this path"))
		return exitUnable
	}
	if o.request != "" {
		var err error
		if r.request, err = r.named(o.request); err != nil {
			r.fail(o.request, 0, err)
			return exitUnable
		}
	}
	p := printer{w: stdout, json: o.json}
	r.learn(paths)
	r.each = p.turn
	for _, path := range paths {
		r.read(path)
	}
	p.sum()
	switch {
	case r.failed:
		return exitUnable
	case p.outcomes[validate.Corrupted] > 0:
		return exitCorrupted
	}
	return exitGood
}
