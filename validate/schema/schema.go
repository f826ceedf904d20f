// Package schema says whether the arguments of a call conform to the schema
// that its tool declares.
//
// Schemas come from clients and arguments from a model, so both may be
// hostile: nothing is ever loaded by URL or from a file, and what could cost
// more than a bounded effort is not evaluated but called TooComplex. A schema
// is read as SGLang reads it (always draft 2020-12, sloppy type names mended);
// what cannot be understood is dropped, so that it never makes a violation.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of a schema.
const (
	MaxBytes = 32 << 10
	maxDepth = 16
	maxNodes = 2000
)

// Limits of an instance.
const (
	maxInstance       = 1 << 20
	maxInstanceDepth  = 64
	maxInstanceValues = 20_000
	maxBranchDepth    = 8 // under recursion with anyOf or oneOf
)

// Status says whether a schema or an instance can be judged.
type Status uint8

// The statuses.
const (
	Ready      Status = iota
	TooComplex        // beyond a limit
	Unusable          // no valid schema
)

// Class is the sort of a violation.
type Class uint8

// The classes. Other is a violation of a keyword that fits no other class, or
// of several at once.
const (
	Other Class = iota
	Required
	Type
	Value
	Additional
)

// Violation is one way in which arguments do not conform.
type Violation struct {
	Class Class
	Path  []string // to the value that is wrong, or to the object that lacks or may not have Key
	Key   string   // the missing or forbidden property
	Minor bool     // a wrong type that reads like the wanted one: "12" for 12
	Early []string // the only strings allowed here, where Class is Value
}

// Schema is a tool's compiled schema. It may be used concurrently.
type Schema struct {
	status   Status
	compiled *jsonschema.Schema
	doc      any
	names    map[string]bool
	branchy  bool // recursive, with anyOf or oneOf
	needs    bool
	props    map[string]any
	costs    map[string]int // instructions of each pattern
}

// Compile reads the JSON of a tool's parameters; none, null and {} stand for any object.
func Compile(raw []byte) *Schema {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	if len(raw) > MaxBytes {
		return Oversized()
	}
	doc, err := decode(raw)
	if err != nil {
		return &Schema{status: Unusable}
	}
	if doc == nil {
		doc = map[string]any{}
	}
	if !small(doc) {
		return Oversized()
	}
	return compile(doc)
}

// Oversized stands for a schema that was not kept because of its size.
func Oversized() *Schema { return &Schema{status: TooComplex} }

func compile(doc any) *Schema {
	m := mender{root: doc, names: map[string]bool{}, costs: map[string]int{}}
	doc, ok := m.mend(doc)
	if !ok {
		return &Schema{status: Unusable}
	}
	s := &Schema{doc: doc, names: m.names, costs: m.costs}
	if o, ok := doc.(map[string]any); ok {
		s.props, _ = o["properties"].(map[string]any)
	}
	graph := walkGraph(doc)
	if graph.loops {
		return &Schema{status: Unusable}
	}
	s.branchy = graph.recursive && m.branches
	if s.compiled = build(doc); s.compiled == nil {
		return &Schema{status: Unusable}
	}
	found, st := s.Check([]byte("{}"), NewBudget())
	s.needs = st == Ready && slices.ContainsFunc(found, func(v Violation) bool { return v.Class == Required })
	return s
}

// build compiles doc; it gives nil where the library refuses it or panics.
func build(doc any) (sch *jsonschema.Schema) {
	defer func() {
		if recover() != nil {
			sch = nil
		}
	}()
	const place = "tool:///parameters"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(deny{})
	if c.AddResource(place, doc) != nil {
		return nil
	}
	sch, err := c.Compile(place)
	if err != nil {
		return nil
	}
	return sch
}

// deny loads nothing.
type deny struct{}

func (deny) Load(string) (any, error) { return nil, errors.New("schemas load nothing") }

// decode reads JSON with its numbers as they are spelled.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// Status says whether the schema can judge anything.
func (s *Schema) Status() Status { return s.status }

// Needs reports whether an empty object lacks a required property.
func (s *Schema) Needs() bool { return s.needs }

// Declares reports whether the schema names such a property anywhere.
func (s *Schema) Declares(name string) bool { return s.names[name] }

// Check judges a valid JSON text, which costs some of the budget. The
// violations stand in no particular order.
func (s *Schema) Check(text []byte, b *Budget) ([]Violation, Status) {
	if s.status != Ready {
		return nil, s.status
	}
	v, ok := b.decode(text)
	if !ok {
		return nil, TooComplex
	}
	return s.judge(v, b)
}

// judge evaluates the schema on a decoded instance.
func (s *Schema) judge(v any, b *Budget) (found []Violation, st Status) {
	if s.branchy && depth(v) > maxBranchDepth {
		return nil, TooComplex
	}
	if !b.affords(s, v) {
		return nil, TooComplex
	}
	defer func() {
		if recover() != nil {
			found, st = nil, TooComplex
		}
	}()
	err := s.compiled.Validate(v)
	var bad *jsonschema.ValidationError
	if err == nil || !errors.As(err, &bad) {
		return nil, Ready
	}
	return violations(bad, v), Ready
}

// Wrapped reports whether text is an object that does not conform, but whose
// only member, arguments or input and not declared, holds one that does, or
// its JSON text: a known quirk of some parsers.
func (s *Schema) Wrapped(text []byte, b *Budget) bool {
	if s.status != Ready {
		return false
	}
	v, ok := b.decode(text)
	o, isObject := v.(map[string]any)
	if !ok || !isObject || len(o) != 1 {
		return false
	}
	for _, name := range []string{"arguments", "input"} {
		inner, ok := o[name]
		if _, declared := s.props[name]; !ok || declared {
			continue
		}
		if t, isText := inner.(string); isText && json.Valid([]byte(t)) {
			inner, _ = b.decode([]byte(t))
		}
		if _, ok := inner.(map[string]any); !ok {
			return false
		}
		found, st := s.judge(inner, b)
		return st == Ready && len(found) == 0
	}
	return false
}
