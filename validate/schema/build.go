package schema

import (
	"encoding/json"
	"errors"
	"hash/maphash"
	"math"
	"reflect"
	"regexp"
	"slices"
)

// errUnusable says that a keyword has no value that it may have.
var errUnusable = errors.New("the schema is not valid")

// builder makes nodes of a mended schema.
type builder struct {
	root     any
	program  *program
	nodes    map[uintptr]*node // by the schema object
	patterns map[string]*pattern
	costs    map[string]int
	backs    map[string]*backtracker
	err      error
}

// assemble makes a program of a mended schema whose references do not loop.
func assemble(doc any, m *mender) (*program, error) {
	b := &builder{
		root: doc, costs: m.costs, backs: m.backs, nodes: map[uintptr]*node{}, patterns: map[string]*pattern{},
		program: &program{seed: maphash.String(maphash.MakeSeed(), "")},
	}
	root := b.node(doc)
	if b.err != nil {
		return nil, b.err
	}
	for _, n := range b.nodes {
		n.plain = n.simple()
		b.program.size += n.size()
	}
	for _, n := range b.nodes {
		n.shorten()
	}
	b.program.root = short(root)
	return b.program, nil
}

// node is the node of a schema.
func (b *builder) node(v any) *node {
	switch v := v.(type) {
	case bool:
		if v {
			return nil
		}
		return &node{never: true, maxRune: -1, maxProps: -1, maxHeld: -1, maxItems: -1}
	case map[string]any:
		id := reflect.ValueOf(v).Pointer()
		if n := b.nodes[id]; n != nil {
			return n
		}
		n := &node{types: anyType, maxRune: -1, maxProps: -1, maxHeld: -1, maxItems: -1}
		b.nodes[id] = n
		b.fill(n, v)
		return n
	}
	b.err = errUnusable
	return nil
}

func (b *builder) fill(n *node, o map[string]any) {
	b.types(n, o)
	b.inPlace(n, o)
	b.values(n, o)
	b.texts(n, o)
	b.members(n, o)
	b.elements(n, o)
}

func (b *builder) types(n *node, o map[string]any) {
	v, ok := o["type"]
	if !ok {
		return
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	n.types = 0
	for _, t := range list {
		name, _ := t.(string)
		m := typeMask(name)
		if m == 0 {
			b.err = errUnusable
		}
		n.types |= m
	}
}

func typeMask(name string) mask {
	switch name {
	case "null":
		return tNull
	case "boolean":
		return tBool
	case "object":
		return tObject
	case "array":
		return tArray
	case "string":
		return tString
	case "number":
		return tNumber | tInteger
	case "integer":
		return tInteger
	}
	return 0
}

// list reads a keyword that holds a list of schemas.
func (b *builder) list(o map[string]any, key string) []*node {
	v, ok := o[key]
	if !ok {
		return nil
	}
	l, isList := v.([]any)
	if !isList || len(l) == 0 {
		b.err = errUnusable
		return nil
	}
	out := make([]*node, len(l))
	for i, sub := range l {
		out[i] = b.node(sub)
	}
	return out
}

// one reads a keyword that holds one schema.
func (b *builder) one(o map[string]any, key string) *node {
	if v, ok := o[key]; ok {
		return b.node(v)
	}
	return nil
}

// solid puts a node that allows everything where there is none, for places
// where it matters that a schema holds.
func (b *builder) solid(l []*node) []*node {
	for i, n := range l {
		if n == nil {
			l[i] = b.node(map[string]any{})
		}
	}
	return l
}

func (b *builder) inPlace(n *node, o map[string]any) {
	if ref, ok := o["$ref"].(string); ok {
		if target, ok := resolve(b.root, ref); ok {
			n.must = append(n.must, b.node(target))
		}
	}
	n.must = append(n.must, b.list(o, "allOf")...)
	if l := b.list(o, "anyOf"); l != nil {
		n.groups = append(n.groups, group{branches: b.solid(l)})
	}
	if l := b.list(o, "oneOf"); l != nil {
		n.groups = append(n.groups, group{one: true, branches: b.solid(l)})
	}
	if v, ok := o["not"]; ok {
		n.not = b.solid([]*node{b.node(v)})
	}
	if _, ok := o["if"]; ok {
		c := &conditional{b.solid([]*node{b.one(o, "if")})[0], b.one(o, "then"), b.one(o, "else")}
		if c.then != nil || c.otherwise != nil {
			n.cond = c
		}
	}
}

// values reads what holds for values of any type, and for numbers.
func (b *builder) values(n *node, o map[string]any) {
	if v, ok := o["enum"]; ok {
		l, isList := v.([]any)
		if !isList {
			b.err = errUnusable
		}
		n.enums = append(n.enums, b.enum(l))
	}
	if v, ok := o["const"]; ok {
		n.enums = append(n.enums, b.enum([]any{v}))
	}
	for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		if d, ok := b.number(o, k); ok {
			n.limits = append(n.limits, limit{value: d, upper: k == "maximum" || k == "exclusiveMaximum", exclusive: k[0] == 'e'})
		}
	}
	if d, ok := b.number(o, "multipleOf"); ok {
		if d.sign() <= 0 {
			b.err = errUnusable
			return
		}
		n.step = append(n.step, d)
	}
}

func (b *builder) number(o map[string]any, key string) (decimal, bool) {
	v, ok := o[key]
	if !ok {
		return decimal{}, false
	}
	s, isNumber := v.(json.Number)
	if !isNumber {
		b.err = errUnusable
	}
	return parse([]byte(s), nil), isNumber
}

func (b *builder) enum(list []any) *enum {
	e := &enum{hashes: map[uint64]bool{}}
	for _, v := range list {
		switch v := v.(type) {
		case nil:
			e.types |= tNull
		case bool:
			e.types |= tBool
			e.yes, e.no = e.yes || v, e.no || !v
		case string:
			e.types |= tString
			e.words = append(e.words, v)
		case json.Number:
			e.types |= tNumber | tInteger
			e.numbers = append(e.numbers, parse([]byte(v), nil))
		case []any:
			e.compound |= tArray
			e.hashes[b.program.hash(v)] = true
		case map[string]any:
			e.compound |= tObject
			e.hashes[b.program.hash(v)] = true
		}
	}
	e.types |= e.compound
	e.words = listed(e.words)
	slices.SortFunc(e.numbers, func(a, b decimal) int { return a.compare(&b) })
	return e
}

// size reads a keyword that counts something.
func (b *builder) size(o map[string]any, key string, none int) int {
	v, ok := o[key]
	if !ok {
		return none
	}
	s, _ := v.(json.Number)
	f, err := s.Float64()
	if err != nil || f < 0 || f != math.Trunc(f) {
		b.err = errUnusable
		return none
	}
	return int(min(f, 1<<40))
}

func (b *builder) texts(n *node, o map[string]any) {
	n.minRune, n.maxRune = b.size(o, "minLength", 0), b.size(o, "maxLength", -1)
	if v, ok := o["pattern"]; ok {
		s, isText := v.(string)
		if !isText {
			b.err = errUnusable
			return
		}
		n.pattern = b.pattern(s)
	}
}

// pattern compiles a translated regular expression.
func (b *builder) pattern(s string) *pattern {
	if p := b.patterns[s]; p != nil {
		return p
	}
	p := &pattern{cost: b.costs[s], back: b.backs[s]}
	if p.back == nil {
		var err error
		if p.Regexp, err = regexp.Compile(s); err != nil {
			b.err = errUnusable
		}
	}
	b.patterns[s] = p
	return p
}

// elements reads what holds for arrays.
func (b *builder) elements(n *node, o map[string]any) {
	n.prefix, n.items = b.list(o, "prefixItems"), b.one(o, "items")
	n.minItems, n.maxItems = b.size(o, "minItems", 0), b.size(o, "maxItems", -1)
	n.unique = b.flag(o, "uniqueItems")
	if v, ok := o["contains"]; ok {
		n.minHeld, n.maxHeld = b.size(o, "minContains", 1), b.size(o, "maxContains", -1)
		if n.minHeld > 0 || n.maxHeld >= 0 {
			n.contains = b.solid([]*node{b.node(v)})[0]
		}
	}
}

func (b *builder) flag(o map[string]any, key string) bool {
	v, ok := o[key]
	yes, isBool := v.(bool)
	if ok && !isBool {
		b.err = errUnusable
	}
	return yes
}
