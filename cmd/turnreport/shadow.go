package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"

	"turnwatch/cmd/internal/report"
	"turnwatch/proxy/pairs"
	"turnwatch/proxy/turn"
	"turnwatch/validate/stats"
)

const shadowIntro = `turnreport shadow says what shadow traffic has shown: how often a candidate's answers
and a control's were corrupted for equal requests, and what that proves.

  turnreport shadow [flags] JOURNAL...
  turnreport shadow -prometheus URL [flags]

Of several journals, of replicas, the evidence is added up. Restarts and changes of
configuration are named, and each period between them is judged by itself.
It exits with 0 when the candidate is better or no different, 1 when it is worse, 2 when it
could not run, 3 when nothing is decided or can be compared.
`

const gateIntro = `turnreport gate -shadow answers a rollout: it prints the word and exits with 0 to promote,
1 to roll back, 2 when it could not run, 3 to wait.

  turnreport gate -shadow [flags] JOURNAL...
  turnreport gate -shadow -prometheus URL [flags]
`

// shadowOptions are the flags of both.
type shadowOptions struct {
	json       bool
	shadow     bool
	model      string
	print      string
	prometheus string
	limits     pairs.Limits
	paths      []string
}

func (o *shadowOptions) flags(name string) *flag.FlagSet {
	f := flag.NewFlagSet("turnreport "+name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.StringVar(&o.model, "model", "", "`MODEL` whose comparisons alone count (default: all)")
	f.StringVar(&o.print, "fingerprint", "", "`FINGERPRINT` of the candidate whose comparisons alone count (default: all)")
	f.StringVar(&o.prometheus, "prometheus", "", "`URL` of a Prometheus to take the counts of all replicas from, instead of journals: http://host:9090")
	f.Float64Var(&o.limits.Margin, "margin", 0.02, "`SHARE` of answers, a difference that does not matter")
	f.Float64Var(&o.limits.Batch, "batch-limit", 1.5, "`NUMBER` of times that one arm's batch may be as large as another's; below 1 is no limit")
	if name == "gate" {
		f.BoolVar(&o.shadow, "shadow", false, "decide on shadow traffic")
	}
	return f
}

// parse reads the flags of a command.
func (o *shadowOptions) parse(name string, args []string) (*flag.FlagSet, error) {
	f := o.flags(name)
	err := f.Parse(args)
	o.paths = f.Args()
	switch {
	case err != nil || flagsFirst(o.paths) != nil:
		err = cmp.Or(err, flagsFirst(o.paths))
	case name == "gate" && !o.shadow:
		err = errors.New("nothing to decide on: say -shadow")
	case o.limits.Margin <= 0 || o.limits.Margin >= 1:
		err = errors.New("-margin must lie between 0 and 1")
	case o.prometheus == "" && len(o.paths) == 0:
		err = errors.New("nothing to read: name journals, or -prometheus URL")
	case o.prometheus != "" && len(o.paths) > 0:
		err = errors.New("-prometheus and journals exclude one another")
	}
	return f, err
}

// shadowMain is turnreport shadow.
func shadowMain(ctx context.Context, args []string, s std) int {
	return shadowCommand(ctx, "shadow", shadowIntro, args, s)
}

// gateMain is turnreport gate.
func gateMain(ctx context.Context, args []string, s std) int {
	return shadowCommand(ctx, "gate", gateIntro, args, s)
}

func shadowCommand(ctx context.Context, name, intro string, args []string, s std) int {
	var o shadowOptions
	f, err := o.parse(name, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(s.out, intro, "\nFlags:\n")
		f.SetOutput(s.out)
		f.PrintDefaults()
		return report.ExitGood
	}
	var h *history
	if err == nil {
		h, err = o.read(ctx, s.in)
	}
	if err == nil {
		err = o.write(s.out, name, h)
	}
	if err != nil {
		s.fail(err)
		return report.ExitUnable
	}
	if name == "gate" {
		return gateExit(&h.Report)
	}
	return wordExit(h.Word)
}

// read gathers what journals or Prometheus hold.
func (o *shadowOptions) read(ctx context.Context, in io.Reader) (*history, error) {
	var h *history
	var err error
	if o.prometheus != "" {
		h, err = askPrometheus(ctx, http.DefaultClient, o.prometheus, o.limits)
	} else {
		h, err = readHistory(ctx, o.paths, in, o.limits)
	}
	if err != nil {
		return nil, err
	}
	if o.model != "" || o.print != "" {
		h.Report = h.Report.Of(o.model, o.print)
	}
	return h, nil
}

func (o *shadowOptions) write(w io.Writer, name string, h *history) error {
	switch {
	case o.json && name == "gate":
		return json.NewEncoder(w).Encode(map[string]any{"word": h.Word, "promote": h.Promote, "rollback": h.Rollback, "text": h.Text})
	case o.json:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(h)
	case name == "gate":
		_, err := fmt.Fprintf(w, "SHADOW %s: %s\n", h.Word, h.Text)
		return err
	}
	return h.print(w)
}

// gateExit is the answer to a rollout as an exit code.
func gateExit(r *pairs.Report) int {
	switch {
	case r.Rollback:
		return report.ExitCorrupted
	case r.Promote:
		return report.ExitGood
	}
	return report.ExitUndecided
}

func wordExit(w stats.Word) int {
	switch w {
	case stats.Worse:
		return report.ExitCorrupted
	case stats.Better, stats.Same:
		return report.ExitGood
	}
	return report.ExitUndecided
}

// otherArm is the arm that a comparison is made against, or the live one.
func otherArm(a turn.Arm) turn.Arm {
	if a == "" {
		return turn.Live
	}
	return a
}
