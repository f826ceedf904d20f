package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"turnwatch/cmd/internal/stress"
	"turnwatch/proxy/journal"
	"turnwatch/proxy/turn"
)

const runIntro = `turnstress plays agent sessions whose right answers are known against any
OpenAI-compatible server, judges every answer as turnwatch does and says what the
counts prove and what they do not.

  turnstress -target http://127.0.0.1:30000 -sessions 40 -concurrency 20
  turnstress -target http://old:30000 -target-b http://new:30000 -sessions 400 -stop-when-decided
  turnstress -target http://127.0.0.1:30000 -scenario abort-decode -journal turns.jsonl

A turn is right, wrong but valid (the model erred, or was corrupted without a trace:
reported apart), or corrupted. It works with turnwatch in between and without.

Other commands, each with its own -h:

`

const runTail = `
It exits with 0 when nothing was corrupted, with 1 when something was, with 2 when it
could not run, with 3 when nothing was judged or the run ended early. With -target-b:
1 when B is worse than A, 0 when it is better or no worse than -margin, 3 when that
is undecided. With -rule-out: 0 only when that share is ruled out.
`

// runOptions are the flags of run.
type runOptions struct {
	load   stress.Load
	target targetOptions
	b      string // URL of the second target
	labelB labels

	scenario string
	decided  bool
	ruleOut  stress.Share
	margin   stress.Share
	baseline rate

	json    bool
	journal string
	quiet   bool
}

// targetOptions are the flags that say how targets are reached.
type targetOptions struct {
	url, model, keyFile, ca string
	headers                 headers
	labels                  labels
	facts                   string
	noPoll                  bool
}

func (o *runOptions) define(fs *flag.FlagSet) {
	fs.StringVar(&o.scenario, "scenario", "", "`NAME|FILE` of settings for the flags below; turnstress scenarios lists those that\ncome with it")
	o.target.define(fs)
	fs.StringVar(&o.b, "target-b", "", "`URL` of a second server, B, that is compared with the first, A")
	fs.Var(&o.labelB, "label-b", "`NAME=VALUE` as -label, of B")
	o.load.Define(fs)
	fs.BoolVar(&o.decided, "stop-when-decided", false, "end as soon as -target-b or -rule-out is decided: valid however often one looks")
	fs.Var(&o.ruleOut, "rule-out", "`SHARE` of corrupted sessions that is to be ruled out, such as 5%")
	fs.Var(&o.margin, "margin", "`SHARE` by which B may differ and still count as no worse, for -target-b")
	fs.Var(&o.baseline, "baseline", "`K/N` of an earlier run, corrupted of all sessions, to hold this one against")
	fs.StringVar(&o.journal, "journal", "", "`FILE` for a line for each turn, as turnwatch writes it; - is standard output,\nand the report goes to standard error")
	fs.BoolVar(&o.json, "json", false, "print one JSON object instead of the report")
	fs.BoolVar(&o.quiet, "quiet", false, "show no progress")
}

func (o *targetOptions) define(fs *flag.FlagSet) {
	fs.StringVar(&o.url, "target", "", "`URL` of the server, or of a relay in front of it. Required")
	fs.StringVar(&o.model, "model", "", "`NAME` of the model (default: the first that the server names)")
	fs.StringVar(&o.keyFile, "key-file", "", "`FILE` with the key that requests are sent with, as a bearer token")
	fs.StringVar(&o.ca, "ca", "", "PEM `FILE` with the authorities that may vouch for an https server (default: the system's)")
	fs.Var(&o.headers, "header", "`NAME: VALUE` of a field of each request; may be repeated")
	fs.Var(&o.labels, "label", "`NAME=VALUE` that is declared of the server's configuration; may be repeated")
	fs.StringVar(&o.facts, "turn-facts", "", "`PATH` to ask for the batches of a turn at, where the server names none in its answers")
	fs.BoolVar(&o.noPoll, "no-poll", false, "do not ask the server for its load each second")
}

func runSessions(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	var o runOptions
	fs := flag.NewFlagSet("turnstress", flag.ContinueOnError)
	o.define(fs)
	if err := parse(fs, args, runIntro+listCommands()+"\nFlags:\n", stdout); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, runTail)
		}
		return exitUnable, err
	}
	if err := o.prepare(fs); err != nil {
		return exitUnable, err
	}
	return o.run(ctx, stdout, stderr)
}

// prepare completes the load from the scenario and the flags.
func (o *runOptions) prepare(fs *flag.FlagSet) error {
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; -h shows the flags", fs.Arg(0))
	}
	if o.scenario != "" {
		s, err := stress.FindScenario(o.scenario)
		if err != nil {
			return err
		}
		if err := s.Apply(&o.load, fs); err != nil {
			return err
		}
	}
	if err := o.check(); err != nil {
		return err
	}
	a, err := o.target.target(o.target.url, turn.Live, o.target.labels)
	if err != nil {
		return err
	}
	o.load.Targets = []stress.Target{a}
	if o.b != "" {
		b, err := o.target.target(o.b, turn.Candidate, o.labelB)
		if err != nil {
			return err
		}
		o.load.Targets = append(o.load.Targets, b)
	}
	return nil
}

func (o *runOptions) check() error {
	switch two := o.b != ""; {
	case o.target.url == "":
		return errors.New("-target is required: the URL of a server, such as http://127.0.0.1:30000")
	case o.decided && !two && o.ruleOut == 0:
		return errors.New("-stop-when-decided needs -target-b or -rule-out: something to decide")
	case two && o.ruleOut > 0:
		return errors.New("-rule-out is for one server: leave out -target-b, or give -margin")
	case !two && (o.margin > 0 || o.load.Waves || len(o.labelB) > 0):
		return errors.New("-margin, -waves and -label-b need -target-b")
	case o.ruleOut == 1:
		return errors.New("-rule-out must be below 100%")
	case o.json && o.journal == "-":
		return errors.New("-json and -journal - both want the standard output")
	}
	return nil
}

// target makes a target with what both share.
func (o *targetOptions) target(url string, arm turn.Arm, l labels) (stress.Target, error) {
	t := stress.Target{URL: url, Model: o.model, KeyFile: o.keyFile, Headers: o.headers, Arm: arm, Labels: l, Facts: o.facts, NoPoll: o.noPoll}
	if o.keyFile != "" {
		b, err := os.ReadFile(o.keyFile)
		if err != nil {
			return t, fmt.Errorf("read -key-file: %w", err)
		}
		t.Key = strings.TrimSpace(string(b))
	}
	if o.ca == "" {
		return t, nil
	}
	b, err := os.ReadFile(o.ca)
	if err != nil {
		return t, fmt.Errorf("read -ca: %w", err)
	}
	t.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	if !t.TLS.RootCAs.AppendCertsFromPEM(b) {
		return t, fmt.Errorf("read -ca=%s: it holds no certificate in PEM", o.ca)
	}
	return t, nil
}

// run plays the load and prints what came of it.
func (o *runOptions) run(ctx context.Context, stdout, stderr io.Writer) (int, error) {
	write, done, err := openJournal(o.journal)
	if err != nil {
		return exitUnable, err
	}
	v := newVerdict(o)
	p := o.progress(stderr)
	o.load.Turned = func(t *stress.Turn) {
		write(&t.Turn)
		p.turn(t)
	}
	o.load.Played = func(s *stress.Session) string {
		p.session(s)
		return v.session(s)
	}
	o.load.Progress = p.progress
	res, err := stress.Run(ctx, o.load)
	p.end()
	if o.journal == "-" {
		stdout = stderr // which is the journal's
	}
	if err == nil {
		v.result = res
		err = v.print(stdout)
	}
	return v.code(), errors.Join(err, done())
}

// openJournal opens the journal at path, if there is to be one.
func openJournal(path string) (write func(*turn.Turn), done func() error, err error) {
	if path == "" {
		return func(*turn.Turn) {}, func() error { return nil }, nil
	}
	w, err := journal.Open(path, journal.Options{})
	if err != nil {
		return nil, nil, err
	}
	done = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return w.Close(ctx)
	}
	return w.Finish, done, nil
}

// labels are declared tags.
type labels map[string]string

func (l *labels) String() string { return "" }

func (l *labels) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("must be NAME=VALUE")
	}
	if *l == nil {
		*l = labels{}
	}
	(*l)[name] = value
	return nil
}

// headers are fields of requests.
type headers [][2]string

func (h *headers) String() string { return "" }

func (h *headers) Set(text string) error {
	name, value, ok := strings.Cut(text, ":")
	if !ok || strings.TrimSpace(name) == "" {
		return errors.New("must be NAME: VALUE")
	}
	*h = append(*h, [2]string{strings.TrimSpace(name), strings.TrimSpace(value)})
	return nil
}

// rate is a count of an earlier run.
type rate stress.Rate

func (r *rate) String() string { return "" }

func (r *rate) Set(text string) error {
	k, n, _ := strings.Cut(text, "/")
	a, errK := strconv.Atoi(k)
	b, errN := strconv.Atoi(n)
	if errK != nil || errN != nil || a < 0 || a > b || b == 0 {
		return errors.New("must be corrupted sessions of all, such as 6/40")
	}
	*r = rate{a, b}
	return nil
}
