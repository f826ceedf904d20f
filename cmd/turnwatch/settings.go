package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
	yamlv3 "go.yaml.in/yaml/v3"
)

// envPrefix begins the name of every variable that is a setting.
const envPrefix = "TURNWATCH_"

// envName is the variable that stands for a flag.
func envName(name string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// layer is one source of settings.
type layer struct {
	*koanf.Koanf
	spell func(name string) string // how the source spells a flag's name
}

// loaded is what load learns besides the values themselves.
type loaded struct {
	origins  map[string]string // by flag; a flag that kept its default is missing
	changed  func(name string) bool
	warnings []string
}

// load fills the options behind f. A flag wins over its variable, the variable
// over its key in the file, the key over the default.
func (f *flags) load(args []string) (*loaded, error) {
	args1, err := f.fromArgs(args)
	if err != nil {
		return nil, err
	}
	l := &loaded{origins: make(map[string]string), changed: f.changed}
	env1, err := f.fromEnv(l)
	if err != nil {
		return nil, err
	}
	file, err := f.fromFile(args1, env1)
	if err != nil {
		return nil, err
	}
	merged := koanf.New(".")
	for _, from := range []layer{file, env1, args1} {
		if err := merged.Merge(from.Koanf); err != nil {
			return nil, fmt.Errorf("merge settings: %w", err)
		}
		for _, name := range from.Keys() {
			l.origins[name] = from.spell(name)
		}
	}
	return l, f.apply(merged, l.origins, args1)
}

// changed reports whether a flag has another value than its default, whoever gave
// it that.
func (f *flags) changed(name string) bool {
	fl := f.set.Lookup(name)
	return fl.Value.String() != fl.DefValue
}

// fromArgs parses the command line, which sets the values of the flags in it.
func (f *flags) fromArgs(args []string) (layer, error) {
	l := layer{koanf.New("."), func(string) string { return "flag" }}
	if err := f.set.Parse(joinAnnotate(args)); err != nil {
		return l, f.argError(err)
	}
	if f.set.NArg() > 0 {
		return l, hinted{fmt.Errorf("unexpected argument %q", mask(f.set.Arg(0))), "a setting is written -name=value; see turnwatch -h"}
	}
	values := make(map[string]any)
	f.set.Visit(func(fl *flag.Flag) { values[fl.Name] = fl.Value.String() })
	return l, l.Load(confmap.Provider(values, ""), nil)
}

// argError says in our words what package flag found.
func (f *flags) argError(err error) error {
	if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		return fmt.Errorf("unknown flag -%s%s", name, didYouMean(name, f.names("-")))
	}
	// A flag that may stand alone passes for a boolean there.
	if value, ok := strings.CutPrefix(err.Error(), "invalid boolean value "); ok {
		return plain(errors.New("invalid value " + strings.Replace(value, `" for -`, `" for flag -`, 1)))
	}
	return plain(err)
}

// plain says what a setting that is on or off takes, where package flag says
// only that it could not parse the value.
func plain(err error) error {
	if before, ok := strings.CutSuffix(err.Error(), "parse error"); ok {
		return errors.New(before + "it is neither true nor false")
	}
	return err
}

// names lists the flags with a prefix each, which makes them fit for a hint.
func (f *flags) names(prefix string) []string {
	var names []string
	f.set.VisitAll(func(fl *flag.Flag) { names = append(names, prefix+fl.Name) })
	return names
}

// settable reports whether a variable or a key may stand for the flag. The
// others say what one call is to do.
func (f *flags) settable(name string) bool {
	return f.set.Lookup(name) != nil && !slices.Contains([]string{"check-config", "version"}, name)
}

// fromEnv reads the variables. One that is no setting is a warning, not an
// error: an orchestrator may add some of its own to a namespace named after us.
func (f *flags) fromEnv(l *loaded) (layer, error) {
	from := layer{koanf.New("."), func(name string) string { return "env " + envName(name) }}
	known := make(map[string]string)
	var vars []string
	for _, name := range f.names("") {
		if f.settable(name) {
			known[envName(name)] = name
			vars = append(vars, envName(name))
		}
	}
	return from, from.Load(env.Provider("", env.Opt{Prefix: envPrefix, TransformFunc: func(k, v string) (string, any) {
		name, ok := known[k]
		if !ok && !serviceLink(k, v) {
			l.warnings = append(l.warnings, "the environment's "+k+" is no setting"+didYouMean(k, vars))
		}
		if f.repeatable(name) {
			return name, splitList(v)
		}
		return name, v
	}}), nil)
}

// splitList takes a comma-separated list apart.
func splitList(s string) []string {
	all := strings.Split(s, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// serviceLink reports whether a variable is one of those that Kubernetes sets
// for every Service, here for one named turnwatch or turnwatch-….
func serviceLink(k, v string) bool {
	return regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)`).MatchString(k) ||
		strings.HasSuffix(k, "_PORT") && strings.Contains(v, "://")
}

// repeatable reports whether the flag may be given more than once.
func (f *flags) repeatable(name string) bool {
	fl := f.set.Lookup(name)
	if fl == nil {
		return false
	}
	_, ok := fl.Value.(*list)
	return ok
}

// fromFile reads the file that -config names, or its variable.
func (f *flags) fromFile(args, env layer) (layer, error) {
	path := env.String("config")
	if args.Exists("config") {
		path = args.String("config")
	}
	from := layer{koanf.New("."), func(string) string { return "file " + path }}
	if path == "" {
		return from, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return from, fmt.Errorf("read -config: %w", err)
	}
	if err := from.Load(rawbytes.Provider(b), yaml.Parser()); err != nil {
		return from, hinted{fmt.Errorf("read -config %s: %w", path, err), "it is YAML, a setting a line: upstream: http://127.0.0.1:30000"}
	}
	if goesOn(b) {
		return from, fmt.Errorf("read -config %s: settings stand in its first YAML document alone, and below a line --- it goes on", path)
	}
	for _, key := range from.Keys() {
		switch {
		case key == "config":
			return from, fmt.Errorf("%s names a settings file itself (%s): -config stands on the command line", path, key)
		case !f.settable(key):
			return from, f.unknown(key, path)
		}
	}
	return from, nil
}

// goesOn reports whether there is more than one document in YAML whose first
// is in order: the parser of settings reads that alone.
func goesOn(b []byte) bool {
	d := yamlv3.NewDecoder(bytes.NewReader(b))
	err := d.Decode(new(yamlv3.Node))
	for err == nil {
		var next any
		if err = d.Decode(&next); next != nil {
			return true
		}
	}
	return err != io.EOF
}

// unknown says what is wrong with a key of the file. A setting that was written
// as a map has keys below its own.
func (f *flags) unknown(key, path string) error {
	if name, below, ok := strings.Cut(key, "."); ok && f.settable(name) {
		hint := "write a value alone"
		if f.repeatable(name) {
			hint = fmt.Sprintf("write a list, as %s: [%s=VALUE], or a value alone", name, below)
		}
		return hinted{fmt.Errorf("%s in %s is not a map", name, path), hint}
	}
	return fmt.Errorf("unknown key %s in %s%s", key, path, didYouMean(key, f.names("")))
}

// apply sets the flags that the command line did not. Its errors name the
// source as the user wrote it.
func (f *flags) apply(merged *koanf.Koanf, origins map[string]string, args layer) error {
	for _, name := range merged.Keys() {
		if args.Exists(name) {
			continue
		}
		values, err := words(merged.Get(name), f.repeatable(name))
		for _, v := range values {
			if err == nil {
				err = f.set.Set(name, v)
			}
		}
		if err != nil {
			return fmt.Errorf("-%s (from %s): %w", name, origins[name], plain(err))
		}
	}
	return nil
}

// words writes a value of the environment or of the file as a command line
// would.
func words(v any, repeatable bool) ([]string, error) {
	switch v := v.(type) {
	case nil:
		return nil, errors.New("it has no value")
	case []string:
		return v, nil
	case []any:
		if !repeatable {
			return nil, errors.New("it is a list, but the setting has one value")
		}
		var all []string
		for _, e := range v {
			w, err := words(e, false)
			if err != nil {
				return nil, err
			}
			all = append(all, w...)
		}
		return all, nil
	}
	return []string{fmt.Sprint(v)}, nil
}

// hinted is an error with a line that may help.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }
