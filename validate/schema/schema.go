// Package schema says whether the arguments of a call conform to the schema
// that its tool declares.
//
// A schema is compiled to a program that runs beside the text while it comes
// in: each open value has the nodes at work on it, and a violation is told at
// the first byte that no continuation could mend. The few keywords that look
// at what others did ($dynamicRef, unevaluatedProperties and their like) are
// left to a library, which judges the whole text in the end. So are patterns that no
// automaton knows: look-behinds, back references and the like.
//
// Schemas come from clients and arguments from a model, so both may be
// hostile: nothing is ever loaded by URL or from a file, and what could cost
// more than a bounded effort is not evaluated but called TooComplex. A schema
// is read as SGLang reads it (sloppy type names mended); what cannot be
// understood is dropped and counted, so that it never makes a violation.
package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
)

// Limits of a schema.
const (
	MaxBytes = 128 << 10
	maxDepth = 64
	maxNodes = 10_000
)

// Limits of an instance that is left to the library.
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
	Minor bool // a wrong type that reads like the wanted one: "12" for 12

	// At is the first byte at which it is certain, and Pointer leads to what is
	// wrong, missing or forbidden, names that the schema does not know told
	// as *. At is -1 if the library found it: then Path and Key say where.
	At      int64
	Pointer string

	Path []string // to the value that is wrong, or to the object that lacks or may not have Key
	Key  string   // the missing or forbidden property
}

// Schema is a tool's compiled schema. It may be used concurrently.
type Schema struct {
	status  Status
	program *program // nil if all is left to the library
	library library
	late    *late           // nil if its patterns are all in the program
	names   map[string]bool // of properties
	own     map[string]bool // of properties: those of the root that a wrapper may be called like
	needs   bool
	lost    int
	size    int // about how many bytes it keeps beside its text

	checkers sync.Pool // *Checker, renewed
}

// Compile reads the JSON of a tool's parameters; none, null and {} stand for
// any object. It keeps raw, which must not change.
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
	return compile(raw, doc)
}

// Oversized stands for a schema that was not kept because of its size.
func Oversized() *Schema { return &Schema{status: TooComplex} }

func compile(raw []byte, doc any) *Schema {
	m := newMender(doc)
	mended, ok := m.mend(doc)
	s := &Schema{names: m.names, lost: m.lost, own: wrappers(mended), size: perName * len(m.names)}
	s.library = library{raw: raw, modest: modest(doc)}
	switch {
	case m.exotic && s.library.modest && s.library.strict(doc):
		s.lost = 0
		s.library.costs = m.costs
	case !ok || !s.assemble(mended, m):
		return &Schema{status: Unusable}
	}
	if s.program == nil {
		s.size += perLibrary * len(raw)
	} else if m.irregular {
		s.late, s.size = &late{}, s.size+perLibrary*len(raw)
	}
	found, st := s.Check([]byte("{}"), NewBudget())
	s.needs = st == Ready && slices.ContainsFunc(found, func(v Violation) bool { return v.Class == Required })
	return s
}

// About what a compiled schema takes.
const (
	perName    = 64 // bytes a name
	perLibrary = 40 // times its text
)

// wrappers are the names of a wrapper that the root declares itself.
func wrappers(doc any) map[string]bool {
	o, _ := doc.(map[string]any)
	props, _ := o["properties"].(map[string]any)
	own := map[string]bool{}
	for _, name := range wrapperNames() {
		_, own[name] = props[name]
	}
	return own
}

// wrapperNames are those that some parsers wrap arguments with.
func wrapperNames() []string { return []string{"arguments", "input"} }

// assemble makes the program, or leaves all to the library where it must.
func (s *Schema) assemble(mended any, m *mender) bool {
	graph := walkGraph(mended)
	if graph.loops {
		return false
	}
	s.library.branchy = graph.recursive && m.branches
	if m.rest {
		s.status = TooComplex
		if s.library.modest {
			s.status = Ready
			return s.library.ready()
		}
		return true
	}
	var err error
	s.program, err = assemble(mended, m)
	if err == nil {
		s.size += s.program.size
	}
	return err == nil
}

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

// Lost is how many keywords were dropped because they could not be understood,
// or are left to the end, where some of them may be.
func (s *Schema) Lost() int { return s.lost }

// Declares reports whether the schema names such a property anywhere.
func (s *Schema) Declares(name string) bool { return s.names[name] }

// Check judges a valid JSON text, which costs some of the budget. The
// violations stand in no particular order.
func (s *Schema) Check(text []byte, b *Budget) ([]Violation, Status) {
	c := s.Checker(b)
	defer c.Free()
	c.Feed(text)
	return c.Finish(text)
}

// Wraps reports whether text begins like arguments that some parsers wrap.
func (s *Schema) Wraps(text []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(text), []byte("{"))
	if !ok {
		return false
	}
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return slices.ContainsFunc(wrapperNames(), func(name string) bool {
		return !s.own[name] && bytes.HasPrefix(rest, []byte(`"`+name+`"`))
	})
}

// Wrapped reports whether text is an object that does not conform, but whose
// only member, arguments or input and not declared, holds one that does, or
// its JSON text: a known quirk of some parsers.
func (s *Schema) Wrapped(text []byte, b *Budget) bool {
	if s.status != Ready || !b.pay(len(text)/16) {
		return false
	}
	var o map[string]json.RawMessage
	if json.Unmarshal(text, &o) != nil || len(o) != 1 {
		return false
	}
	for _, name := range wrapperNames() {
		inner, ok := o[name]
		if !ok || s.own[name] {
			continue
		}
		var quoted string
		if json.Unmarshal(inner, &quoted) == nil {
			inner = []byte(quoted)
		}
		if inner = bytes.TrimSpace(inner); len(inner) == 0 || inner[0] != '{' || !json.Valid(inner) {
			return false
		}
		found, st := s.Check(inner, b)
		return st == Ready && len(found) == 0
	}
	return false
}
