package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

const helpHead = `turnwatch relays between agents and an SGLang server, unchanged, and judges every turn that passes.

  turnwatch -upstream http://127.0.0.1:30000

Clients only change the port. A flag -some-name is also the variable TURNWATCH_SOME_NAME and the key some-name of
the YAML file that -config names; flag > variable > file > default. A repeatable flag is comma-separated in the
variable and a list in the file.
`

const helpFoot = `
SIGTERM or SIGINT: stop accepting, let answers in progress end up to -drain-timeout, cut the rest, write what is
known, exit 0. A second signal exits at once with 3. Exit 2: could not start, or had to stop.
`

// usage writes the help: every flag with its default, in the groups in which
// they were defined.
func (f *flags) usage(w io.Writer) {
	fmt.Fprint(w, helpHead)
	for _, g := range f.groups {
		fmt.Fprintf(w, "\n%s\n", g.title)
		for _, name := range g.names {
			f.describe(w, name)
		}
	}
	fmt.Fprint(w, helpFoot)
}

func (f *flags) describe(w io.Writer, name string) {
	fl := f.set.Lookup(name)
	arg, help := flag.UnquoteUsage(fl)
	if _, ok := fl.Value.(*span); ok {
		arg = "DURATION"
	}
	head := "  -" + name
	if arg != "" {
		head += " " + arg
	}
	if fl.DefValue != "" && fl.DefValue != "false" {
		help += " (default " + fl.DefValue + ")"
	}
	fmt.Fprintf(w, "%s\n      %s\n", head, strings.ReplaceAll(help, "\n", "\n      "))
}
