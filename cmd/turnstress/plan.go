package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"turnwatch/cmd/internal/stress"
	"turnwatch/validate/stats"
)

const planIntro = `turnstress plan says how many sessions it takes.

  turnstress plan -rule-out 15%     to say that fewer than 15% are corrupted
  turnstress plan -detect 15%:1%    to tell a server with 15% from one with 1%
  turnstress plan -prove 2%:0.1% -probe-rate 2
                                    to prove by probes, 2% of which come back wrong, that more than
                                    0.1% do, and how long that takes

It gives two numbers: one for sessions that are counted in advance and looked at
once, and a peek-safe one, for whoever looks after every session and stops when
it is decided, as turnstress itself does.

Flags:
`

// planOptions are the flags of plan.
type planOptions struct {
	ruleOut      stress.Share
	detect       pair
	prove        pair
	rate         float64 // probes in a minute
	power, level stress.Share
	json         bool
	seed         uint64
}

func runPlan(_ context.Context, args []string, stdout, _ io.Writer) (int, error) {
	o := planOptions{power: 0.8, level: stress.Level}
	fs := flag.NewFlagSet("turnstress plan", flag.ContinueOnError)
	fs.Var(&o.ruleOut, "rule-out", "`SHARE` of corrupted sessions that is to be ruled out, such as 15%")
	fs.Var(&o.detect, "detect", "`SHARE:SHARE` of two servers that are to be told apart, the greater first, such as 15%:1%")
	fs.Var(&o.prove, "prove", "`SHARE:SHARE` of wrong turns: the one there is, and the one that is to be exceeded, such as 2%:0.1%")
	fs.Float64Var(&o.rate, "probe-rate", 2, "`NUMBER` of probes in a minute, for -prove")
	fs.Var(&o.power, "power", "`SHARE` of experiments that shall succeed, for -detect and -prove")
	fs.Var(&o.level, "level", "`SHARE` of false conclusions that is accepted")
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

func (o *planOptions) check(fs *flag.FlagSet) error {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; -h shows the flags", fs.Arg(0))
	case count(given, "rule-out", "detect", "prove") != 1:
		return errors.New("give one of -rule-out, -detect and -prove; -h shows examples")
	case !(o.rate > 0):
		return errors.New("-probe-rate must be above 0")
	case given["rule-out"] && !within(o.ruleOut), !within(o.power), !within(o.level):
		return errors.New("-rule-out, -power and -level must be above 0 and below 100%")
	}
	return nil
}

func count(given map[string]bool, names ...string) (n int) {
	for _, name := range names {
		if given[name] {
			n++
		}
	}
	return n
}

func within(s stress.Share) bool { return 0 < s && s < 1 }

// pair is two shares.
type pair struct{ high, low stress.Share }

func (p *pair) String() string { return "" }

func (p *pair) Set(text string) error {
	high, low, ok := strings.Cut(text, ":")
	if !ok {
		return errors.New("must be two shares, such as 15%:1%")
	}
	if err := errors.Join(p.high.Set(high), p.low.Set(low)); err != nil {
		return err
	}
	if p.low >= p.high || p.high == 1 {
		return errors.New("the first share must be the greater, and below 100%")
	}
	return nil
}

// planned is what -json prints: sessions in each arm.
type planned struct {
	RuleOut  *stress.Share  `json:"rule_out,omitempty"`
	Detect   []stress.Share `json:"detect,omitempty"`
	Prove    []stress.Share `json:"prove,omitempty"`
	Hours    float64        `json:"hours,omitempty"` // that PeekSafe takes
	Power    stress.Share   `json:"power,omitempty"`
	Level    stress.Share   `json:"level"`
	Fixed    int            `json:"fixed,omitempty"`
	PeekSafe int            `json:"peek_safe"` // 0: more than can be simulated
	// AfterOne is PeekSafe where one session turns out corrupted.
	AfterOne int `json:"peek_safe_after_one,omitempty"`
}

// simulated bounds the pairs that a simulated experiment takes, proved the probes.
const (
	simulated = 20_000
	proved    = 10_000_000
)

func (o *planOptions) plan() planned {
	level := float64(o.level)
	if o.ruleOut > 0 {
		p, conf := float64(o.ruleOut), 1-level
		return planned{RuleOut: &o.ruleOut, Level: o.level, Fixed: stats.RuleOutN(p, conf),
			PeekSafe: stats.RuleOutPeekSafeN(p, conf, 0), AfterOne: stats.RuleOutPeekSafeN(p, conf, 1)}
	}
	if o.prove.high > 0 {
		n := stats.ProofN(float64(o.prove.high), float64(o.prove.low), float64(o.power), level, proved, o.seed)
		return planned{Prove: []stress.Share{o.prove.high, o.prove.low}, Power: o.power, Level: o.level, PeekSafe: n, Hours: float64(n) / o.rate / 60}
	}
	high, low, power := float64(o.detect.high), float64(o.detect.low), float64(o.power)
	p := planned{Detect: []stress.Share{o.detect.high, o.detect.low}, Power: o.power, Level: o.level, Fixed: stats.FixedN(high, low, power, level)}
	if p.Fixed < simulated/4 {
		p.PeekSafe = stats.PeekSafeN(high, low, power, level, simulated, o.seed)
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
			o.ruleOut.String(), o.level.String(), p.Fixed, p.PeekSafe, p.AfterOne)
		return err
	}
	if p.Prove != nil {
		_, err := fmt.Fprintf(w, "to prove that more than %s of turns are wrong where %s are, at level %s, in %s of experiments:\n"+
			"  %d probes, looked at after each: %.1f hours at %g a minute\n",
			o.prove.low.String(), o.prove.high.String(), o.level.String(), o.power.String(), p.PeekSafe, p.Hours, o.rate)
		return err
	}
	peek := fmt.Sprintf("%d sessions on each, looked at after each pair", p.PeekSafe)
	if p.PeekSafe == 0 {
		peek = "looked at after each pair: more than is simulated; expect half as many again"
	}
	_, err := fmt.Fprintf(w, "to tell a server with %s of sessions corrupted from one with %s, at level %s, in %s of experiments:\n"+
		"  %d sessions on each, counted in advance (Fisher's exact test, one-sided)\n  %s\n",
		o.detect.high.String(), o.detect.low.String(), o.level.String(), o.power.String(), p.Fixed, peek)
	return err
}
