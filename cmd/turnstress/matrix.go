package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v3"

	"turnwatch/cmd/internal/stress"
)

const matrixIntro = `turnstress matrix runs sessions against a server under many configurations: it
starts a command for each cell, waits until it is ready, plays the sessions and stops
it again. All turns go to one journal, with the cell's levels among their tags, for
turnreport to explain.

  turnstress matrix -journal turns.jsonl launch.yaml

What is done is noted beside the journal: the same command goes on after a crash, an
interrupt or -max-time where it was. The file is YAML:

  factors:                     # of the configuration; the first level is the suspect
    index-dtype: [bf16, fp8]
    cuda-graph: [on, off]
    overlap: [on, off]
  command: [python, -m, sglang.launch_server, --port, "{port}", --index-dtype, "{index-dtype}"]
  args:                        # what a level adds to the command
    cuda-graph: {off: [--disable-cuda-graph]}
  load:                        # a scenario, and what is to be otherwise
    scenario: origin
    sessions: 100
  boots: 3                     # of each cell, the sessions divided among them
  skip:                        # cells that are left out
    - {cuda-graph: off, overlap: on}

Further keys, with their defaults: ready, the URL that answers with 200 once the
server is ready (http://127.0.0.1:{port}/v1/models); ready-timeout (10m); stop-timeout
(30s, after SIGTERM); sidecar, a command that is started when the server is ready and
put in between, with {url} for the server and {sidecar-port} for itself; target and
target-b, URLs of run (http://127.0.0.1:{sidecar-port} or {port}); env, a list of
NAME=VALUE; order, the seed that shuffles the cells (1), since a server that changes
in time must not look like a factor. {NAME} stands for a factor's level wherever it
is written, in load too.

With -adaptive not all cells are run: whichever of the factors can be at their
second level while the corruption stays are found by halving, each cell until it is
decided that a share of -detect is there or is not. That takes few cells where few
factors matter, and trusts that they matter together. The exit status is that of run.

Flags:
`

// matrix is the file of a launch matrix.
type matrix struct {
	Factors      yaml.Node                      `yaml:"factors"`
	Command      []string                       `yaml:"command"`
	Args         map[string]map[string][]string `yaml:"args"`
	Env          []string                       `yaml:"env"`
	Ready        string                         `yaml:"ready"`
	ReadyTimeout time.Duration                  `yaml:"ready-timeout"`
	StopTimeout  time.Duration                  `yaml:"stop-timeout"`
	Sidecar      []string                       `yaml:"sidecar"`
	Target       string                         `yaml:"target"`
	TargetB      string                         `yaml:"target-b"`
	Load         yaml.Node                      `yaml:"load"`
	Boots        int                            `yaml:"boots"`
	Skip         []map[string]string            `yaml:"skip"`
	Order        uint64                         `yaml:"order"`

	factors []factor
	load    string // the text of Load
	text    []byte
}

// factor is one thing that cells differ in.
type factor struct {
	name   string
	levels []string
}

// readMatrix reads the file of a launch matrix.
func readMatrix(path string) (*matrix, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the matrix: %w", err)
	}
	m := &matrix{text: text, ReadyTimeout: 10 * time.Minute, StopTimeout: 30 * time.Second, Boots: 1, Order: 1}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("read the matrix %s: %w", path, err)
	}
	if err := stress.OneDocument(text); err != nil {
		return nil, fmt.Errorf("read the matrix %s: %w", path, err)
	}
	if err := m.complete(); err != nil {
		return nil, fmt.Errorf("read the matrix %s: %w", path, err)
	}
	return m, nil
}

// complete checks the file and fills in what it leaves out.
func (m *matrix) complete() error {
	for i := 0; i+1 < len(m.Factors.Content); i += 2 {
		f := factor{name: m.Factors.Content[i].Value}
		for _, level := range m.Factors.Content[i+1].Content {
			f.levels = append(f.levels, level.Value)
		}
		m.factors = append(m.factors, f)
	}
	if !m.Load.IsZero() {
		b, err := yaml.Marshal(&m.Load)
		if err != nil {
			return err
		}
		m.load = string(b)
	}
	if m.Ready == "" {
		m.Ready = "http://127.0.0.1:{port}/v1/models"
	}
	if m.Target == "" {
		m.Target = "http://127.0.0.1:{port}"
		if len(m.Sidecar) > 0 {
			m.Target = "http://127.0.0.1:{sidecar-port}"
		}
	}
	return m.check()
}

func (m *matrix) check() error {
	switch {
	case len(m.factors) == 0:
		return errors.New("factors: there must be at least one, as index-dtype: [bf16, fp8]")
	case len(m.Command) == 0:
		return errors.New("command: it is missing")
	case m.Boots < 1:
		return errors.New("boots: must be at least 1")
	}
	for _, f := range m.factors {
		if len(f.levels) == 0 || slices.Contains(f.levels, "") {
			return fmt.Errorf("factors: %s: must be a list of levels", f.name)
		}
		if slices.Contains([]string{"port", "sidecar-port", "url"}, f.name) {
			return fmt.Errorf("factors: %s: {%s} stands for something else; give the factor another name", f.name, f.name)
		}
		if len(slices.Compact(slices.Sorted(slices.Values(f.levels)))) < len(f.levels) {
			return fmt.Errorf("factors: %s: has a level twice", f.name)
		}
	}
	for name := range m.Args {
		if !slices.ContainsFunc(m.factors, func(f factor) bool { return f.name == name }) {
			return fmt.Errorf("args: %s is no factor", name)
		}
	}
	return nil
}

// cell is one configuration: a level of each factor, in their order.
type cell []string

// name is the cell in words, its key in the notes.
func (m *matrix) name(c cell) string {
	var parts []string
	for i, f := range m.factors {
		parts = append(parts, f.name+"="+c[i])
	}
	return strings.Join(parts, " ")
}

// cells are all of the full factorial but those to be skipped, shuffled.
func (m *matrix) cells() []cell {
	all := []cell{{}}
	for _, f := range m.factors {
		var longer []cell
		for _, c := range all {
			for _, level := range f.levels {
				longer = append(longer, append(slices.Clone(c), level))
			}
		}
		all = longer
	}
	all = slices.DeleteFunc(all, m.skipped)
	r := rand.New(rand.NewPCG(m.Order, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func (m *matrix) skipped(c cell) bool {
	return slices.ContainsFunc(m.Skip, func(s map[string]string) bool {
		for i, f := range m.factors {
			if level, ok := s[f.name]; ok && level != c[i] {
				return false
			}
		}
		return len(s) > 0
	})
}

// values are what stands for {NAME} in a cell.
func (m *matrix) values(c cell) map[string]string {
	v := map[string]string{}
	for i, f := range m.factors {
		v[f.name] = c[i]
	}
	return v
}

// fill puts values in for their names.
func fill(text string, values map[string]string) string {
	for name, v := range values {
		text = strings.ReplaceAll(text, "{"+name+"}", v)
	}
	return text
}

// matrixOptions are the flags of matrix.
type matrixOptions struct {
	journal  string
	adaptive bool
	detect   stress.Share
	maxTime  time.Duration
	restart  bool
	quiet    bool
	target   targetOptions
}

func runMatrix(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	o := matrixOptions{detect: 0.15}
	fs := flag.NewFlagSet("turnstress matrix", flag.ContinueOnError)
	o.define(fs)
	if err := parse(fs, args, matrixIntro, stdout); err != nil {
		return exitUnable, err
	}
	if fs.NArg() != 1 {
		return exitUnable, errors.New("name one file with a matrix, behind the flags; -h shows what it holds")
	}
	m, err := readMatrix(fs.Arg(0))
	switch {
	case err != nil:
		return exitUnable, err
	case o.journal == "" || o.journal == "-":
		return exitUnable, errors.New("-journal is required: a file, beside which is noted what is done")
	case o.adaptive && !within(o.detect):
		return exitUnable, errors.New("-detect must be above 0 and below 100%")
	}
	return o.run(ctx, m, stdout, stderr)
}

func (o *matrixOptions) define(fs *flag.FlagSet) {
	fs.StringVar(&o.journal, "journal", "", "`FILE` for the turns of all cells; what is done is noted in FILE.matrix, what the servers\nsay in FILE.log. Required")
	fs.BoolVar(&o.adaptive, "adaptive", false, "look for the factors that matter instead of running every cell")
	fs.Var(&o.detect, "detect", "`SHARE` of sessions that is corrupted where the fault is, for -adaptive")
	fs.DurationVar(&o.maxTime, "max-time", 0, "`TIME` after which to stop; the same command goes on later. 0 is no limit")
	fs.BoolVar(&o.restart, "restart", false, "forget what was done before and begin anew; the journal is kept")
	fs.BoolVar(&o.quiet, "quiet", false, "show no progress")
	fs.StringVar(&o.target.model, "model", "", "`NAME` of the model (default: the first that the server names)")
	fs.StringVar(&o.target.keyFile, "key-file", "", "`FILE` with the key that requests are sent with, as a bearer token")
	fs.StringVar(&o.target.facts, "turn-facts", "", "`PATH` to ask for the batches of a turn at, where the server names none in its answers")
}
