package stress

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Scenario is a load by name: settings for its flags, and what runs beside it. Its
// file is YAML:
//
//	doc: what it provokes, and why
//	sessions: 40
//	concurrency: [4, 16]
//	abort: 30%
//	companions:
//	  - name: churn
//	    concurrency: 8
//	    abort: 100%
//	    abort-prefill: true
//	    abort-retries: 0
//
// The keys are the names of the flags; a companion has name, concurrency and those
// that say what sessions are like. A flag that is given wins over the file, and the
// file over another that it names as its scenario.
type Scenario struct {
	Name, Doc  string
	base       *Scenario
	depth      int // of what builds on it
	settings   []setting
	companions [][]setting
}

type setting struct {
	name, value string
	line        int
}

//go:embed scenarios/*.yaml
var builtin embed.FS

// Scenarios returns the scenarios that come with the program, by name.
func Scenarios() ([]Scenario, error) {
	var all []Scenario
	files, err := fs.Glob(builtin, "scenarios/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		s, err := FindScenario(strings.TrimSuffix(path.Base(file), ".yaml"))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// FindScenario returns a scenario that comes with the program, or that of a file.
func FindScenario(name string) (Scenario, error) { return findScenario(name, 0) }

func findScenario(name string, depth int) (Scenario, error) {
	b, err := ScenarioText(name)
	if err != nil {
		return Scenario{}, err
	}
	return readScenario(name, b, depth)
}

// ScenarioText returns the file of a scenario.
func ScenarioText(name string) ([]byte, error) {
	if b, err := builtin.ReadFile("scenarios/" + name + ".yaml"); err == nil {
		return b, nil
	}
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no scenario and no file %q; turnstress scenarios lists them", name)
	}
	return b, err
}

// ReadScenario reads the file of a scenario.
func ReadScenario(name string, b []byte) (Scenario, error) { return readScenario(name, b, 0) }

func readScenario(name string, b []byte, depth int) (Scenario, error) {
	s := Scenario{Name: name, depth: depth}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil && err != io.EOF {
		return s, fmt.Errorf("scenario %s: %w", name, err)
	}
	if err := OneDocument(b); err != nil {
		return s, fmt.Errorf("scenario %s: %w", name, err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return s, fmt.Errorf("scenario %s: must be a list of settings, such as sessions: 40", name)
	}
	for key, value := range members(doc.Content[0]) {
		if err := s.read(key, value); err != nil {
			return s, fmt.Errorf("scenario %s: line %d: %w", name, key.Line, err)
		}
	}
	return s, s.check()
}

// members yields the keys and values of a mapping.
func members(n *yaml.Node) func(func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

func (s *Scenario) read(key, value *yaml.Node) error {
	switch key.Value {
	case "doc":
		s.Doc = strings.TrimSpace(value.Value)
		return nil
	case "companions":
		return s.readCompanions(value)
	case "scenario":
		return s.readBase(value.Value)
	}
	text, err := scalar(value)
	s.settings = append(s.settings, setting{key.Value, text, key.Line})
	return err
}

// readBase reads the scenario that this one builds on.
func (s *Scenario) readBase(name string) error {
	const deep = 8 // two that build on each other have no end
	if s.depth == deep {
		return fmt.Errorf("scenario: more than %d build on one another", deep)
	}
	base, err := findScenario(name, s.depth+1)
	s.base = &base
	return err
}

func (s *Scenario) readCompanions(list *yaml.Node) error {
	if list.Kind != yaml.SequenceNode {
		return errors.New("companions must be a list")
	}
	for _, item := range list.Content {
		var all []setting
		for key, value := range members(item) {
			text, err := scalar(value)
			if err != nil {
				return err
			}
			all = append(all, setting{key.Value, text, key.Line})
		}
		s.companions = append(s.companions, all)
	}
	return nil
}

// scalar is the value of a setting as a flag has it: a list is joined by commas.
func scalar(n *yaml.Node) (string, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Value, nil
	case yaml.SequenceNode:
		var all []string
		for _, item := range n.Content {
			all = append(all, item.Value)
		}
		return strings.Join(all, ","), nil
	}
	return "", errors.New("must be a value or a list of values")
}

// check applies the settings to a load of no account.
func (s *Scenario) check() error {
	var l Load
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	l.Define(flags)
	return s.Apply(&l, flags)
}

// Apply gives a load the settings of the scenario, but for those whose flags were
// given.
func (s *Scenario) Apply(l *Load, flags *flag.FlagSet) error {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, set := range s.settings {
		if given[set.name] {
			continue
		}
		if err := set.to(flags); err != nil {
			return fmt.Errorf("scenario %s: %w", s.Name, err)
		}
	}
	for _, all := range s.companions {
		if err := l.accompany(all); err != nil {
			return fmt.Errorf("scenario %s: %w", s.Name, err)
		}
	}
	if s.base != nil {
		return s.base.Apply(l, flags)
	}
	return nil
}

func (s *setting) to(flags *flag.FlagSet) error {
	if flags.Lookup(s.name) == nil {
		return fmt.Errorf("line %d: there is no setting %q", s.line, s.name)
	}
	if err := flags.Set(s.name, s.value); err != nil {
		return fmt.Errorf("line %d: %s: %w", s.line, s.name, err)
	}
	return nil
}

func (l *Load) accompany(all []setting) error {
	var c Companion
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	c.Work.Define(flags)
	flags.IntVar(&c.Concurrency, "concurrency", 1, "")
	for _, set := range all {
		if err := set.to(flags); err != nil {
			return err
		}
	}
	if c.Concurrency < 1 {
		return errors.New("concurrency of a companion must be at least 1")
	}
	l.Companions = append(l.Companions, c)
	return nil
}
