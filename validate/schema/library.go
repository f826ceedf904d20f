package schema

import (
	"errors"
	"maps"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// library judges whole texts by a general implementation, for what the program
// does not do. It cannot be stopped, so that its effort is estimated first.
type library struct {
	raw     []byte
	modest  bool // small enough to be compiled
	branchy bool // recursive, with anyOf or oneOf

	once   sync.Once // guards what follows
	schema *jsonschema.Schema
	doc    any
	costs  map[string]int   // instructions of each pattern
	named  []map[string]any // what references may mean by a name
}

// Limits of a schema that is left to the library, whose effort rises with the
// cube of the depth.
const (
	modestDepth = 16
	modestNodes = 2000
)

func modest(doc any) bool {
	nodes := 0
	return count(doc, 1, &nodes, modestDepth, modestNodes)
}

// strict compiles the schema as it is written, if it holds together.
func (l *library) strict(doc any) bool {
	o, ok := doc.(map[string]any)
	if !ok {
		return false
	}
	o = maps.Clone(o)
	if dialect(o) == unstated {
		delete(o, "$schema")
	}
	schema := build(o, engine, deny{})
	if schema == nil {
		return false
	}
	l.once.Do(func() { l.schema = schema })
	l.doc, l.branchy = o, true
	g := graph{doc: o}
	g.everywhere(func(o map[string]any) bool {
		for _, k := range []string{"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"} {
			if _, ok := o[k]; ok {
				l.named = append(l.named, o)
				break
			}
		}
		return false
	})
	return true
}

// ready compiles the mended schema and reports whether that worked.
func (l *library) ready() bool {
	l.once.Do(func() {
		doc, err := decode(l.raw)
		if err != nil || !l.modest {
			return
		}
		m := newMender(doc)
		l.doc, _ = m.mend(doc)
		l.costs, l.schema = m.costs, build(l.doc, nil, deny{})
	})
	return l.schema != nil
}

// build compiles doc; it gives nil where the library refuses it or panics.
func build(doc any, engine jsonschema.RegexpEngine, loader jsonschema.URLLoader) (sch *jsonschema.Schema) {
	defer func() {
		if recover() != nil {
			sch = nil
		}
	}()
	const place = "tool:///parameters"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(loader)
	if engine != nil {
		c.UseRegexpEngine(engine)
	}
	if c.AddResource(place, doc) != nil {
		return nil
	}
	sch, err := c.Compile(place)
	if err != nil {
		return nil
	}
	return sch
}

// engine compiles patterns of ECMA-262.
func engine(p string) (jsonschema.Regexp, error) {
	s, _, ok := translate(p)
	if !ok {
		return nil, errUnusable
	}
	return regexp.Compile(s)
}

// deny loads nothing.
type deny struct{}

func (deny) Load(string) (any, error) { return nil, errors.New("schemas load nothing") }

// fallback judges a valid JSON text by the library.
func (s *Schema) fallback(text []byte, b *Budget) (found []Violation, st Status) {
	l := &s.library
	v, ok := b.decode(text)
	if !ok || !b.pay(perByteLibrary*len(l.raw)) || !l.ready() || l.branchy && depth(v) > maxBranchDepth || !b.affords(l, v) {
		return nil, TooComplex
	}
	defer func() {
		if recover() != nil {
			found, st = nil, TooComplex
		}
	}()
	err := l.schema.Validate(v)
	var bad *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil, Ready
	case !errors.As(err, &bad):
		return nil, TooComplex
	}
	return violations(bad, v), Ready
}

// targets are the schemas that a reference may lead to.
func (l *library) targets(ref string) (out []any) {
	if t, ok := resolve(l.doc, ref); ok {
		out = append(out, t)
	}
	base, fragment, _ := strings.Cut(ref, "#")
	for _, o := range l.named {
		id, _ := o["$id"].(string)
		switch {
		case fragment != "" && (o["$anchor"] == fragment || o["$dynamicAnchor"] == fragment || strings.HasSuffix(id, "#"+fragment)):
			out = append(out, o)
		case base != "" && last(base) != last(strings.TrimSuffix(id, "#")):
		case ref == "#" && o["$recursiveAnchor"] == true, fragment == "" && base != "":
			out = append(out, o)
		default:
			if t, ok := resolve(o, "#"+fragment); ok && fragment != "" {
				out = append(out, t)
			}
		}
	}
	return out
}

// last is the last part of a path.
func last(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
