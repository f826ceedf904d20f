package stress

import (
	"encoding/json"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"turnwatch/validate/agents"
)

// Define defines the settings of a load as flags. The keys of a scenario's file
// are their names.
func (l *Load) Define(fs *flag.FlagSet) {
	fs.IntVar(&l.Sessions, "sessions", 40, "`NUMBER` of sessions to be counted, at each target and each -concurrency")
	l.Concurrency = []int{20}
	fs.Var((*ladder)(&l.Concurrency), "concurrency", "`NUMBER` of sessions at a time on each target; several, as 1,4,16, are tried one\nafter the other, with sessions of their own")
	fs.Uint64Var(&l.Seed, "seed", 1, "`SEED` of the first session; the others follow. The same seed makes the same requests")
	fs.BoolVar(&l.Waves, "waves", false, "with -target-b: play as many sessions as run at a time on one target, then the same\non the other, so that no batch holds sessions of both")
	fs.DurationVar(&l.MaxTime, "max-time", time.Hour, "`TIME` after which the run ends with what it has")
	fs.Int64Var(&l.MaxRequests, "max-requests", 100_000, "`NUMBER` of requests after which the run ends with what it has")
	fs.DurationVar(&l.Timeout, "timeout", 5*time.Minute, "`TIME` that one answer may take")
	l.Work.Define(fs)
}

// Define defines the settings of a group of sessions as flags.
func (w *Work) Define(fs *flag.FlagSet) {
	fs.StringVar(&w.Name, "name", "", "`NAME` of the group of sessions, in the journal")
	w.Tasks = agents.Sets()[0]
	fs.Var((*set)(&w.Tasks), "tasks", "`NAME` of the set of tasks:\n"+setNames()+"\n")
	fs.IntVar(&w.Turns, "turns", 5, "`NUMBER` of turns of a session: tool calls, and a text at the end")
	fs.IntVar(&w.Long, "long", 0, "`CHARACTERS` of a text that each call must copy besides: long outputs")
	fs.BoolVar(&w.Canary, "canary", true, "plant a word in each session that no other may ever show")
	w.Streamed = 1
	fs.Var(&w.Streamed, "stream", "`SHARE` of turns that are streamed")
	fs.Float64Var(&w.Temperature, "temperature", 0, "`TEMPERATURE` of sampling")
	fs.Var(optional{&w.Sampling}, "sample-seed", "`SEED` of the server's sampling, sent with each request (default: none is sent)")
	fs.IntVar(&w.MaxTokens, "max-tokens", 0, "`NUMBER` of tokens an answer may have; 0 leaves it to the server")
	fs.Var(extra{&w.Extra}, "extra", "`JSON` object with further fields of each request")
	fs.DurationVar(&w.Think, "think", 0, "`TIME` up to which a session waits before each turn: makes the batch vary")
	w.defineText(fs)
	w.Abort.define(fs)
}

func (w *Work) defineText(fs *flag.FlagSet) {
	fs.IntVar(&w.Words, "prefix", 0, "`WORDS` without meaning before each conversation, about a token each")
	fs.IntVar(&w.Prefixes, "prefixes", 1, "`NUMBER` of different prefixes, shared by the sessions; 0 is one for each session")
	fs.IntVar(&w.Align, "align", 0, "pad the first request of each session to a multiple of so many `TOKENS`, as the server\ncounts them: the size of its pages or blocks; 0 pads nothing")
	fs.IntVar(&w.Spread, "align-spread", 1, "go up to so many `TOKENS` below and above the multiple, from session to session")
}

func (a *Abort) define(fs *flag.FlagSet) {
	fs.Var(&a.Share, "abort", "`SHARE` of turns that the client leaves before their end")
	fs.DurationVar(&a.After, "abort-after", 100*time.Millisecond, "`TIME` after the request at which it leaves")
	fs.DurationVar(&a.Jitter, "abort-jitter", 0, "`TIME` up to which it leaves later than that")
	fs.IntVar(&a.Tokens, "abort-tokens", 0, "leave after so many `EVENTS` with output, about a token each, instead of a time")
	fs.BoolVar(&a.Prefill, "abort-prefill", false, "leave only while the answer has not begun")
	fs.IntVar(&a.Retries, "abort-retries", 1, "`NUMBER` of times that the client asks again for the turn it left; the last is not left.\n0 goes on to the next turn")
}

// ladder is a list of concurrencies.
type ladder []int

func (l *ladder) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(*l)), " ", ","), "[]")
}

func (l *ladder) Set(text string) error {
	var all []int
	for _, f := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(f))
		if err != nil || n < 1 {
			return fmt.Errorf("must be numbers of 1 or more, such as 1,4,16")
		}
		all = append(all, n)
	}
	*l = all
	return nil
}

// set is a set of tasks, by its name.
type set agents.Set

func (s *set) String() string { return s.Name }

func (s *set) Set(name string) error {
	for _, known := range agents.Sets() {
		if known.Name == name {
			*s = set(known)
			return nil
		}
	}
	return fmt.Errorf("must be one of %s", setNames())
}

func setNames() string {
	var all []string
	for _, s := range agents.Sets() {
		all = append(all, s.Name+", "+s.Doc)
	}
	return strings.Join(all, ";\n")
}

// optional is a number that may be absent.
type optional struct{ p **int64 }

func (o optional) String() string {
	if o.p == nil || *o.p == nil {
		return ""
	}
	return strconv.FormatInt(**o.p, 10)
}

func (o optional) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("must be a whole number")
	}
	*o.p = &n
	return nil
}

// extra are the fields of a JSON object.
type extra struct{ p *map[string]json.RawMessage }

func (e extra) String() string {
	if e.p == nil || len(*e.p) == 0 {
		return ""
	}
	b, _ := json.Marshal(*e.p) // raw messages that were read always encode
	return string(b)
}

func (e extra) Set(text string) error {
	if err := json.Unmarshal([]byte(text), e.p); err != nil {
		return fmt.Errorf("must be a JSON object: %w", err)
	}
	return nil
}
