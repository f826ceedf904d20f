// Command simsglang runs a simulated SGLang server: its bytes on the wire, a
// batch that grows and shrinks with the load, and faults by name. It needs no
// GPU. Run it with -h for its flags and faults.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"turnwatch/proxy/sglangtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const intro = `simsglang runs a simulated SGLang server.

It answers /v1/chat/completions as SGLang does under uvicorn, streamed or not,
and says what it is at /model_info, /server_info, /v1/loads, /metrics,
/v1/models and /health. What turnwatch's server plugin adds is there unless it is
left out: x-sglang- fields on answers and /turnwatch/turns/ID. At /generate it
scores token ids, knowing what its model would say at any server of the same
-seed and -fault. Requests that come together are decoded together: the batch is
real, and with it what depends on it. SIGTERM and SIGINT end it.

The model follows a plan in the last user message, one step a turn:

  1. Call get_ticket with ticket = "TCK-4821", depth = 3.
  2. Call read_log with path = result.path, host = result[1].host.
  3. Answer: "TCK-4821 is closed"

result.FIELD is a field of the latest tool result, result[N].FIELD of the Nth.
Without a plan it answers with some plain text.

Flags:
`

const tail = `
Faults, for -fault NAME or -fault NAME:RATE. RATE is the share of turns that are
struck, 0.05 by default, but where it says otherwise: -fault bad_json:1 strikes
each. The same seed strikes the same turns of a session (its X-Session-Id, user
or first message); a turn that is asked for again draws anew.
`

const example = `
Example, a race that needs bf16, graph, overlap and a batch:

  simsglang -fault origin & turnwatch -upstream http://127.0.0.1:30000 -journal turns.jsonl
`

// options are the flags.
type options struct {
	listen    string
	statusLog string
	faults    []string
	cfg       sglangtest.Config
	rates     []string // of the faults, in words
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "simsglang: %v\n", err)
		return 2
	}
	log, err := o.openStatusLog()
	if err != nil {
		fmt.Fprintf(stderr, "simsglang: %v\n", err)
		return 2
	}
	defer log.Close()
	ln, err := net.Listen("tcp", o.listen)
	if err != nil {
		fmt.Fprintf(stderr, "simsglang: listen on -listen=%s: %v\n", o.listen, err)
		return 2
	}
	s := sglangtest.Start(ln, o.cfg)
	fmt.Fprintf(stdout, "simsglang: listening on %s\n", s.URL)
	o.announce(stdout)
	<-ctx.Done()
	s.Close()
	report(stdout, s)
	return 0
}

// announce says how often which fault strikes, which few remember.
func (o *options) announce(w io.Writer) {
	for _, rate := range o.rates {
		fmt.Fprintf(w, "simsglang: -fault %s\n", rate)
	}
}

// report says what happened, and the truth about the faults.
func report(w io.Writer, s *sglangtest.Server) {
	c := s.Counters()
	fmt.Fprintf(w, "simsglang: %d requests, %d finished, %d aborted, %d tokens, largest batch %d\n",
		c.Requests, c.Finished, c.Aborted, c.Tokens, c.LargestBatch)
	sessions, struck := map[string]bool{}, map[string]bool{}
	turns := 0
	for _, r := range s.Records() {
		if r.Session == "" {
			continue // a health check
		}
		sessions[r.Session] = true
		if len(r.Faults) > 0 {
			struck[r.Session] = true
			turns++
		}
	}
	fmt.Fprintf(w, "simsglang: faults struck %d turns, %d of %d sessions\n", turns, len(struck), len(sessions))
}

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("simsglang", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	define(fs, &o)
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		help(fs, stdout)
		return o, err
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q; -h shows the flags", fs.Arg(0))
	}
	if err != nil {
		return o, err
	}
	return o, addFaults(&o)
}

func define(fs *flag.FlagSet, o *options) {
	c := &o.cfg
	fs.StringVar(&o.listen, "listen", "127.0.0.1:30000", "`ADDRESS` to listen on; port 0 picks one")
	fs.StringVar(&c.Model, "model", "sim/DeepSeek-V4", "`NAME` of the served model")
	fs.StringVar(&c.Version, "sglang-version", "0.5.18", "`VERSION` that /server_info shows")
	fs.StringVar(&c.Parser, "parser", "deepseekv4", "tool call parser by SGLang's `NAME`: how calls are cut, what leaked markup looks like")
	fs.DurationVar(&c.Step, "step", 10*time.Millisecond, "`TIME` of one decode step; 0 runs as fast as it can")
	fs.DurationVar(&c.Prefill, "prefill", 0, "`TIME` to prefill a thousand prompt tokens")
	fs.IntVar(&c.MaxRunning, "max-running", 256, "largest `BATCH`; more requests wait")
	fs.Uint64Var(&c.Seed, "seed", 1, "`SEED` of ids, texts and faults")
	c.IndexDtype = "bf16"
	fs.Func("index-dtype", "type of the index keys, `bf16|fp8` (default bf16)", func(v string) error {
		c.IndexDtype = v
		return oneOf(v, "bf16", "fp8")
	})
	fs.Func("cuda-graph", "replay CUDA graphs, `on|off` (default on)", off(&c.DisableCUDAGraph))
	fs.Func("overlap", "overlap two streams, `on|off` (default on)", off(&c.DisableOverlap))
	pluginFlags(fs, o)
	fs.Func("fault", "`NAME[:RATE]` of a fault below; may be repeated", func(v string) error {
		o.faults = append(o.faults, v)
		return nil
	})
}

// pluginFlags define what the server tells of itself.
func pluginFlags(fs *flag.FlagSet, o *options) {
	c := &o.cfg
	c.Plugin = true
	fs.Func("plugin", "tell configuration, batch and turn facts as our server plugin does, `on|off` (default on)", func(v string) error {
		c.Plugin = v == "on"
		return oneOf(v, "on", "off")
	})
	fs.Func("omit", "`PART` of the plugin to leave out: one of its fields less x-sglang-, such as batch-size,\nor facts for the route; may be repeated", func(v string) error {
		c.Omit = append(c.Omit, v)
		return nil
	})
	fs.BoolVar(&c.KeepTokens, "keep-tokens", false, "tell the token ids of a turn in its facts, as the plugin does with TURNWATCH_KEEP_TOKENS=1:\nto who shows a key, so with -api-key. Turns are then counted in tokens of two characters")
	scorerFlags(fs, &c.Scorer)
	fs.StringVar(&c.APIKey, "api-key", "", "`KEY` wanted of every request, and shown in clear at /server_info")
	fs.StringVar(&c.AdminAPIKey, "admin-api-key", "", "another `KEY` that opens everything, shown likewise")
	fs.StringVar(&o.statusLog, "status-log", "", "`FILE` for a line each -status-log-interval that says which requests share the batch")
	fs.DurationVar(&c.StatusEvery, "status-log-interval", time.Second, "`TIME` between lines of -status-log")
}

// scorerFlags define how log probabilities are told at /generate.
func scorerFlags(fs *flag.FlagSet, c *sglangtest.Scorer) {
	lies := []string{}
	for _, lie := range sglangtest.Lies() {
		lies = append(lies, string(lie))
	}
	fs.Func("score-lie", "tell wrong log probabilities at /generate, `"+strings.Join(lies, "|")+"`", func(v string) error {
		c.Lie = sglangtest.Lie(v)
		return oneOf(v, lies...)
	})
	fs.DurationVar(&c.Stall, "score-stall", 0, "`TIME` for which /generate says nothing")
	fs.BoolVar(&c.Busy, "score-busy", false, "answer 503 at /generate: the queue is full")
	fs.BoolVar(&c.Damaged, "score-damaged", false, "have a damaged prefix cache: where /generate used it, what -fault swapped makes is likely")
}

// openStatusLog opens the file that -status-log names, if it names one.
func (o *options) openStatusLog() (io.Closer, error) {
	if o.statusLog == "" {
		return io.NopCloser(nil), nil
	}
	f, err := os.OpenFile(o.statusLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open -status-log: %w", err)
	}
	o.cfg.StatusLog = f
	return f, nil
}

func oneOf(v string, allowed ...string) error {
	for _, a := range allowed {
		if v == a {
			return nil
		}
	}
	return fmt.Errorf("must be %s", strings.Join(allowed, " or "))
}

// off sets p when the flag is off.
func off(p *bool) func(string) error {
	return func(v string) error {
		*p = v == "off"
		return oneOf(v, "on", "off")
	}
}

// addFaults makes the faults, which need the seed and the parser.
func addFaults(o *options) error {
	for _, v := range o.faults {
		name, rate, given := strings.Cut(v, ":")
		share, of := 0.05, "turns"
		if name == "origin" {
			share, of = 0.15, "sessions, in half of their turns"
		}
		if given {
			var err error
			if share, err = strconv.ParseFloat(rate, 64); err != nil || share < 0 || share > 1 {
				return fmt.Errorf("-fault %s: the rate must be a number from 0 to 1", v)
			}
		}
		f, err := sglangtest.NewFault(name, share, o.cfg.Seed, o.cfg.Parser)
		if err != nil {
			return fmt.Errorf("-fault %s: %w", v, err)
		}
		o.cfg.Faults = append(o.cfg.Faults, f)
		o.rates = append(o.rates, fmt.Sprintf("%s strikes %.4g%% of %s", name, 100*share, of))
	}
	return nil
}

func help(fs *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, intro)
	fs.SetOutput(w)
	fs.PrintDefaults()
	fmt.Fprint(w, tail, sglangtest.Catalogue(), example)
}
