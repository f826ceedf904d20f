package schema

import (
	"encoding/json"
	"strconv"
	"strings"
)

// small reports whether a schema lies within the limits. A level of a schema
// is two of its JSON: properties, and the property's schema.
func small(doc any) bool {
	nodes := 0
	return count(doc, 1, &nodes)
}

func count(v any, level int, nodes *int) bool {
	if level > 2*maxDepth || *nodes > maxNodes {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		*nodes++
		for _, e := range v {
			if !count(e, level+1, nodes) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !count(e, level+1, nodes) {
				return false
			}
		}
	case json.Number:
		return modestNumber(string(v))
	}
	return *nodes <= maxNodes
}

// Limits of the spelling of a number: arithmetic on others costs more than
// they are worth.
const (
	maxDigits   = 64
	maxExponent = 400
)

func modestNumber(s string) bool {
	if len(s) > maxDigits {
		return false
	}
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return true
	}
	e, err := strconv.Atoi(s[i+1:])
	return err == nil && e >= -maxExponent && e <= maxExponent
}

// modest reports whether a valid JSON text lies within the limits of an
// instance. It decodes nothing.
func modest(text []byte) bool {
	if len(text) > maxInstance {
		return false
	}
	level, values := 0, 0
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '"':
			values++
			i = closing(text, i)
		case b == '{' || b == '[':
			values++
			level++
		case b == '}' || b == ']':
			level--
		case b == '-' || b >= '0' && b <= '9':
			values++
			n := numberEnd(text, i)
			if !modestNumber(string(text[i:n])) {
				return false
			}
			i = n - 1
		}
		if level > maxInstanceDepth || values > maxInstanceValues {
			return false
		}
	}
	return true
}

// closing is the position of the quote that ends the string at i.
func closing(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

func numberEnd(text []byte, i int) int {
	for i < len(text) && strings.IndexByte("+-.eE0123456789", text[i]) >= 0 {
		i++
	}
	return i
}

func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depth(e))
		}
	case []any:
		for _, e := range v {
			deepest = max(deepest, depth(e))
		}
	default:
		return 0
	}
	return deepest + 1
}

// affordable counts the steps of an evaluation without evaluating, every
// branch taken, and reports whether they stay within the budget.
func (s *Schema) affordable(v any) bool {
	b := budget{s: s, left: maxSteps}
	return b.visit(s.doc, v)
}

// maxSteps is how many steps an evaluation may take: some tens of milliseconds.
const maxSteps = 40_000

type budget struct {
	s    *Schema
	left int
}

func (b *budget) pay(n int) bool {
	b.left -= n
	return b.left >= 0
}

// visit pays for a schema on a value, and for all that they lead to.
func (b *budget) visit(sch, v any) bool {
	o, ok := sch.(map[string]any)
	if !b.pay(1 + len(o)/4) {
		return false
	}
	return !ok || b.inPlace(o, v) && b.own(o, v) && b.below(o, v)
}

// inPlace visits the subschemas that look at the same value.
func (b *budget) inPlace(o map[string]any, v any) bool {
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		l, _ := o[k].([]any)
		for _, sub := range l {
			if !b.visit(sub, v) {
				return false
			}
		}
	}
	for _, k := range []string{"not", "if", "then", "else"} {
		if sub, ok := o[k]; ok && !b.visit(sub, v) {
			return false
		}
	}
	subs, _ := o["dependentSchemas"].(map[string]any)
	for _, sub := range subs {
		if !b.visit(sub, v) {
			return false
		}
	}
	if ref, ok := o["$ref"].(string); ok {
		target, _ := resolve(b.s.doc, ref)
		return b.visit(target, v)
	}
	return true
}

// own pays for the keywords that look at the whole value.
func (b *budget) own(o map[string]any, v any) bool {
	switch v := v.(type) {
	case string:
		if p, ok := o["pattern"].(string); ok && !b.pay(len(v)*b.s.costs[p]/100) {
			return false
		}
		if !b.pay(len(v) / 4096) {
			return false
		}
	case []any:
		if o["uniqueItems"] == true && !b.pay(2*weigh(v)) {
			return false
		}
	}
	if e, ok := o["enum"].([]any); ok {
		return b.pay(len(e)/8 + weigh(v))
	}
	_, fixed := o["const"]
	return !fixed || b.pay(weigh(v))
}

// weigh is about what comparing a value costs.
func weigh(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n += weigh(e)
		}
	case []any:
		n += len(v)
		if len(v) <= 20 {
			n += len(v) * len(v)
		}
		for _, e := range v {
			n += weigh(e)
		}
	}
	return n
}

// below visits the subschemas that look at members and elements.
func (b *budget) below(o map[string]any, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if !b.member(o, name, e) {
				return false
			}
		}
	case []any:
		for i, e := range v {
			if !b.element(o, i, e) {
				return false
			}
		}
	}
	return true
}

func (b *budget) member(o map[string]any, name string, e any) bool {
	props, _ := o["properties"].(map[string]any)
	if sub, ok := props[name]; ok && !b.visit(sub, e) {
		return false
	}
	patterns, _ := o["patternProperties"].(map[string]any)
	for p, sub := range patterns {
		if !b.pay(1+len(name)*b.s.costs[p]/100) || !b.visit(sub, e) {
			return false
		}
	}
	if sub, ok := o["propertyNames"]; ok && !b.visit(sub, name) {
		return false
	}
	for _, k := range []string{"additionalProperties", "unevaluatedProperties"} {
		if sub, ok := o[k]; ok && !b.visit(sub, e) {
			return false
		}
	}
	return true
}

func (b *budget) element(o map[string]any, i int, e any) bool {
	tuple, _ := o["prefixItems"].([]any)
	if i < len(tuple) && !b.visit(tuple[i], e) {
		return false
	}
	for _, k := range []string{"items", "contains", "unevaluatedItems"} {
		if sub, ok := o[k]; ok && !b.visit(sub, e) {
			return false
		}
	}
	return b.pay(1)
}
