package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"turnwatch/validate/stats"
)

const planIntro = `turnstress plan says how many sessions it takes.

  turnstress plan -rule-out 15%     to say that fewer than 15% are corrupted
  turnstress plan -detect 15%:1%    to tell a server with 15% from one with 1%

It gives two numbers: one for sessions that are counted in advance and looked at
once, and a peek-safe one, for whoever looks after every session and stops when
it is decided, as turnstress itself does.

Flags:
`

// planOptions are the flags of plan.
type planOptions struct {
	ruleOut, detect      string
	power, level         string
	json                 bool
	seed                 uint64
	share, high, low     float64
	powerShare, levelOne float64
}

func runPlan(_ context.Context, args []string, stdout, _ io.Writer) (int, error) {
	var o planOptions
	fs := flag.NewFlagSet("turnstress plan", flag.ContinueOnError)
	fs.StringVar(&o.ruleOut, "rule-out", "", "`SHARE` of corrupted sessions that is to be ruled out, such as 15%")
	fs.StringVar(&o.detect, "detect", "", "`SHARE:SHARE` of two servers that are to be told apart, the greater first, such as 15%:1%")
	fs.StringVar(&o.power, "power", "80%", "`SHARE` of experiments that shall succeed, for -detect")
	fs.StringVar(&o.level, "level", "5%", "`SHARE` of false conclusions that is accepted")
	fs.BoolVar(&o.json, "json", false, "print a JSON object")
	fs.Uint64Var(&o.seed, "seed", 1, "`SEED` of the simulation behind the peek-safe number of -detect")
	if err := parse(fs, args, planIntro, stdout); err != nil {
		return exitUnable, err
	}
	if err := o.check(fs); err != nil {
		return exitUnable, err
	}
	return exitGood, o.print(stdout)
}

func (o *planOptions) check(fs *flag.FlagSet) (err error) {
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; -h shows the flags", fs.Arg(0))
	}
	if (o.ruleOut == "") == (o.detect == "") {
		return errors.New("give either -rule-out or -detect; -h shows examples")
	}
	if o.powerShare, err = openShare("-power", o.power); err != nil {
		return err
	}
	if o.levelOne, err = openShare("-level", o.level); err != nil {
		return err
	}
	if o.ruleOut != "" {
		o.share, err = openShare("-rule-out", o.ruleOut)
		return err
	}
	return o.checkDetect()
}

func (o *planOptions) checkDetect() (err error) {
	high, low, ok := strings.Cut(o.detect, ":")
	if !ok {
		return fmt.Errorf("-detect %s: give two shares, such as 15%%:1%%", o.detect)
	}
	if o.high, err = openShare("-detect", high); err != nil {
		return err
	}
	if o.low, err = share("-detect", low); err != nil {
		return err
	}
	if o.low >= o.high {
		return fmt.Errorf("-detect %s: the first share must be the greater", o.detect)
	}
	return nil
}

// share reads a share, as 15%, 0.15 or 0.
func share(name, s string) (float64, error) {
	digits, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	p, err := strconv.ParseFloat(digits, 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p >= 0 && p < 1) {
		return 0, fmt.Errorf("%s %s: must be a share below 100%%, such as 15%% or 0.15", name, s)
	}
	return p, nil
}

// openShare reads a share above 0.
func openShare(name, s string) (float64, error) {
	p, err := share(name, s)
	if err == nil && p == 0 {
		err = fmt.Errorf("%s %s: must be above 0", name, s)
	}
	return p, err
}

// planned is what -json prints: sessions in each arm.
type planned struct {
	RuleOut  *float64  `json:"rule_out,omitempty"`
	Detect   []float64 `json:"detect,omitempty"`
	Power    float64   `json:"power,omitempty"`
	Level    float64   `json:"level"`
	Fixed    int       `json:"fixed"`
	PeekSafe int       `json:"peek_safe"` // 0: more than can be simulated
	// AfterOne is PeekSafe where one session turns out corrupted.
	AfterOne int `json:"peek_safe_after_one,omitempty"`
}

// simulated bounds the pairs that a simulated experiment takes.
const simulated = 20_000

func (o *planOptions) plan() planned {
	if o.ruleOut != "" {
		conf := 1 - o.levelOne
		return planned{RuleOut: &o.share, Level: o.levelOne, Fixed: stats.RuleOutN(o.share, conf),
			PeekSafe: stats.RuleOutPeekSafeN(o.share, conf, 0), AfterOne: stats.RuleOutPeekSafeN(o.share, conf, 1)}
	}
	p := planned{Detect: []float64{o.high, o.low}, Power: o.powerShare, Level: o.levelOne,
		Fixed: stats.FixedN(o.high, o.low, o.powerShare, o.levelOne)}
	if p.Fixed < simulated/4 {
		p.PeekSafe = stats.PeekSafeN(o.high, o.low, o.powerShare, o.levelOne, simulated, o.seed)
	}
	return p
}

func (o *planOptions) print(w io.Writer) error {
	p := o.plan()
	if o.json {
		return json.NewEncoder(w).Encode(p)
	}
	if p.RuleOut != nil {
		_, err := fmt.Fprintf(w, "to rule out that %s of sessions or more are corrupted, at level %s:\n"+
			"  %d sessions, counted in advance, none of them corrupted\n"+
			"  %d sessions, looked at after each; %d if one of them is corrupted\n",
			percent(o.share), percent(o.levelOne), p.Fixed, p.PeekSafe, p.AfterOne)
		return err
	}
	peek := fmt.Sprintf("%d sessions on each, looked at after each pair", p.PeekSafe)
	if p.PeekSafe == 0 {
		peek = fmt.Sprintf("looked at after each pair: more than %d sessions on each are not simulated; expect half as many again", simulated/4)
	}
	_, err := fmt.Fprintf(w, "to tell a server with %s of sessions corrupted from one with %s, at level %s, in %s of experiments:\n"+
		"  %d sessions on each, counted in advance (Fisher's exact test, one-sided)\n  %s\n",
		percent(o.high), percent(o.low), percent(o.levelOne), percent(o.powerShare), p.Fixed, peek)
	return err
}

// percent writes a share with as many digits as it needs.
func percent(p float64) string { return strconv.FormatFloat(100*p, 'g', 4, 64) + "%" }
