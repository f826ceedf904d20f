package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"turnwatch/proxy/sglangtest"
	"turnwatch/validate/stats"
)

// The exit codes.
const (
	exitGood      = 0
	exitCorrupted = 1
	exitUnable    = 2
	exitUndecided = 3
)

const replayIntro = `turnstress replay sends recorded requests again and says how often the answer is
corrupted.

  turnstress replay evidence/01m8… -target http://127.0.0.1:30000 -times 30 -concurrency 8

PATH is a folder of evidence, one that holds some (turnwatch -evidence DIR
-evidence-bodies), or a file of captures. The body that is sent has the SHA-256
that was recorded; in what the head differs is listed. Where redaction masked
something in the body, it is sent with the masks, and called redacted.

It exits with 1 when an answer is corrupted, with 0 when none is, with 2 when it
cannot replay, with 3 when nothing could be judged or it was interrupted.

Flags:
`

// parse reads flags before, between and after the paths.
func parse(fs *flag.FlagSet, args []string, intro string, stdout io.Writer) (paths []string, err error) {
	fs.SetOutput(io.Discard)
	for {
		err = fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, intro)
			fs.SetOutput(stdout)
			fs.PrintDefaults()
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%w; -h shows the flags", err)
		}
		if fs.NArg() == 0 {
			break
		}
		paths, args = append(paths, fs.Arg(0)), fs.Args()[1:]
	}
	if len(paths) == 0 {
		return nil, errors.New("nothing to play: name folders of evidence or files of captures; -h tells more")
	}
	return paths, nil
}

// Replay is turnstress replay.
func Replay(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	p, asJSON, keyFile := Plan{}, false, ""
	fs := flag.NewFlagSet("turnstress replay", flag.ContinueOnError)
	fs.StringVar(&p.Target, "target", "", "`URL` of the server (default: the one that the recorded client asked)")
	fs.IntVar(&p.Times, "times", 30, "`NUMBER` of times that each request is sent")
	fs.IntVar(&p.Concurrency, "concurrency", 8, "`NUMBER` of requests at a time")
	fs.DurationVar(&p.Timeout, "timeout", 10*time.Minute, "how long one answer may take")
	fs.StringVar(&keyFile, "key-file", "", "`FILE` with a key to send as bearer token: those of clients are not recorded")
	fs.BoolVar(&asJSON, "json", false, "print a JSON object for each turn, and one for all")
	paths, err := parse(fs, args, replayIntro, stdout)
	if err != nil {
		return exitUnable, err
	}
	if p.Times < 1 || p.Concurrency < 1 {
		return exitUnable, errors.New("-times and -concurrency are numbers above zero")
	}
	if p.Key, err = readKey(keyFile); err != nil {
		return exitUnable, err
	}
	if p.Sources, err = Load(paths); err != nil {
		return exitUnable, err
	}
	if !asJSON {
		p.Each = progress(stderr)
	}
	results, err := Run(ctx, p)
	if err != nil {
		return exitUnable, err
	}
	sum := sumUp(results)
	sum.Interrupted = ctx.Err() != nil
	if asJSON {
		return sum.exit(), printJSON(stdout, results, sum)
	}
	printPeople(stdout, p.Sources, results, sum)
	return sum.exit(), nil
}

func readKey(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read -key-file: %w", err)
	}
	return string(bytes.TrimSpace(b)), nil
}

// progress tells now and then how far it is.
func progress(w io.Writer) func(done, of int) {
	next := time.Now().Add(2 * time.Second)
	return func(done, of int) {
		if now := time.Now(); now.After(next) {
			next = now.Add(2 * time.Second)
			fmt.Fprintf(w, "turnstress: %d of %d answers\n", done, of)
		}
	}
}

// total is all turns together.
type total struct {
	Sent        int     `json:"sent"`
	Judged      int     `json:"judged"`
	Corrupted   int     `json:"corrupted"`
	Same        int     `json:"same_kind"`
	Rate        float64 `json:"rate"`
	Low         float64 `json:"low"`
	High        float64 `json:"high"`
	Failed      int     `json:"failed"`
	Interrupted bool    `json:"interrupted"`
}

func sumUp(results []Result) (t total) {
	for i := range results {
		r := &results[i]
		t.Sent, t.Judged, t.Corrupted = t.Sent+r.Sent, t.Judged+r.Judged, t.Corrupted+r.Corrupted
		t.Same, t.Failed = t.Same+r.Same, t.Failed+r.Failed
	}
	if t.Judged > 0 {
		t.Rate = float64(t.Corrupted) / float64(t.Judged)
	}
	t.Low, t.High = stats.Wilson(t.Corrupted, t.Judged)
	return t
}

func (t *total) exit() int {
	switch {
	case t.Corrupted > 0:
		return exitCorrupted
	case t.Judged == 0 || t.Interrupted:
		return exitUndecided
	}
	return exitGood
}

func printJSON(w io.Writer, results []Result, t total) error {
	enc := json.NewEncoder(w)
	for i := range results {
		if err := enc.Encode(&results[i]); err != nil {
			return err
		}
	}
	return enc.Encode(struct {
		Type string `json:"type"`
		total
	}{"total", t})
}

func printPeople(w io.Writer, sources []Source, results []Result, t total) {
	for i := range results {
		r := &results[i]
		fmt.Fprintf(w, "%s  request %s (%s)\n", r.Name, r.SHA256[:16], r.hashed(&sources[i]))
		if len(r.Recorded) > 0 {
			fmt.Fprintf(w, "  recorded as %s: %s\n", sources[i].Turn.Outcome, strings.Join(r.Recorded, ", "))
		}
		if len(r.Differ) > 0 {
			fmt.Fprintf(w, "  the head differs: %s\n", strings.Join(r.Differ, ", "))
		}
		fmt.Fprintf(w, "  %s\n", rate("corrupted again", r.Corrupted, r.Judged))
		if len(r.Recorded) > 0 {
			fmt.Fprintf(w, "  %s\n", rate("in the same kind", r.Same, r.Judged))
		}
		for _, o := range slices.Sorted(maps.Keys(r.Verdicts)) {
			fmt.Fprintf(w, "  %d %s", r.Verdicts[o], o)
		}
		if len(r.Verdicts) > 0 {
			fmt.Fprintln(w)
		}
		if r.Failed > 0 || r.Judged < r.Sent {
			fmt.Fprintf(w, "  %d could not be judged, the last because: %s\n", r.Sent-r.Judged, r.Error)
		}
	}
	fmt.Fprintln(w, rate("CORRUPTION sessions:", t.Corrupted, t.Judged))
	if t.Interrupted {
		fmt.Fprintln(w, "interrupted: this is what was known by then")
	}
}

// hashed says how what is sent relates to what was recorded.
func (r *Result) hashed(s *Source) string {
	switch {
	case r.Redacted:
		return "redacted: recorded was " + s.SHA256[:16]
	case r.AsSaid:
		return "as recorded"
	}
	return "of a capture"
}

// rate is a share with its interval.
func rate(what string, k, n int) string {
	if n == 0 {
		return fmt.Sprintf("%s 0/0", what)
	}
	lo, hi := stats.Wilson(k, n)
	return fmt.Sprintf("%s %d/%d = %.1f%%  [%.1f%%, %.1f%%]", what, k, n, 100*float64(k)/float64(n), 100*lo, 100*hi)
}

const serveIntro = `turnstress serve plays recorded answers to clients, byte for byte and at the
times they came.

  turnstress serve evidence/01m8… -listen 127.0.0.1:30000
  turnstress serve captures.jsonl.gz -listen 127.0.0.1:30000 -speed 4

PATH is a folder of evidence, one that holds some, or a file of captures. Who
sends a recorded request gets its answer; who asks something else gets the answers of the
evidence in turn, and 404 where captures are played. The facts of a turn are
told at the path that its answer named, or at -facts. It ends with Ctrl-C.

Flags:
`

// Serve is turnstress serve.
func Serve(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	var cfg sglangtest.PlayConfig
	var addr string
	fs := flag.NewFlagSet("turnstress serve", flag.ContinueOnError)
	fs.StringVar(&addr, "listen", "127.0.0.1:30000", "`ADDRESS` for clients; port 0 picks one")
	fs.Float64Var(&cfg.Speed, "speed", 1, "`NUMBER` of times as fast as the answer came")
	fs.BoolVar(&cfg.AtOnce, "at-once", false, "play without any wait")
	fs.BoolVar(&cfg.Any, "any", false, "give those who ask something else an answer even where captures are played")
	fs.StringVar(&cfg.Facts, "facts", "", "`PATH` under which facts are told (default: as recorded, else /turnwatch/turns)")
	paths, err := parse(fs, args, serveIntro, stdout)
	if err != nil {
		return exitUnable, err
	}
	if cfg.Speed <= 0 {
		return exitUnable, errors.New("-speed is a number above zero; -at-once waits for nothing")
	}
	sources, err := Load(paths)
	if err != nil {
		return exitUnable, err
	}
	all, err := recordings(sources, &cfg)
	if err != nil {
		return exitUnable, err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return exitUnable, fmt.Errorf("listen on -listen %s: %w", addr, err)
	}
	p := sglangtest.Play(ln, all, cfg)
	fmt.Fprintf(stdout, "playing %d answers at %s\n", len(all), p.URL)
	<-ctx.Done()
	p.Close()
	sum := p.Played()
	fmt.Fprintf(stdout, "%d played, %d left by their client, %d requests that nobody recorded, facts of %d turns told\n", sum.Answers, sum.Cut, sum.Unknown, sum.Facts)
	return exitGood, nil
}

// recordings are the answers of the sources.
func recordings(sources []Source, cfg *sglangtest.PlayConfig) (all []sglangtest.Recording, err error) {
	for i := range sources {
		s := &sources[i]
		if s.Lost.Answer != "" {
			return nil, fmt.Errorf("%s has no answer's body (%s): run turnwatch with -evidence-bodies", s.Name, s.Lost.Answer)
		}
		if s.Facts != "" && cfg.Facts == "" {
			cfg.Facts = s.Facts
		}
		cfg.Any = cfg.Any || s.Turn != nil
		all = append(all, s.Answer)
	}
	return all, nil
}
