package schema

import "strings"

// Budget is how much effort schemas may still cause: some tens of milliseconds
// for all the calls of a turn.
type Budget struct{ left int }

// steps is a whole budget. A step of a program takes some tens of nanoseconds,
// one of the library many times as long.
const (
	steps = 600_000
	heavy = 15
)

// Steps that compiling takes for each byte of a schema.
const (
	perByte        = 4
	perByteLibrary = 12
)

// NewBudget returns a whole budget.
func NewBudget() *Budget { return new(Budget).Renew() }

// Renew makes the budget whole, and returns it. Nothing that it was for before may use it.
func (b *Budget) Renew() *Budget {
	b.left = steps
	return b
}

// Compile is c.Compile, if the budget affords it.
func (b *Budget) Compile(c *Cache, raw []byte) *Schema {
	if len(raw) > MaxBytes {
		return c.Compile(raw)
	}
	if e := c.known(raw); e != nil {
		return c.compiled(e)
	}
	if !b.pay(perByte * len(raw)) {
		return &Schema{status: TooComplex}
	}
	s := c.Compile(raw)
	if s.program == nil {
		b.pay(perByteLibrary * len(raw))
	}
	return s
}

func (b *Budget) pay(n int) bool {
	b.left -= n
	return b.left >= 0
}

// decode decodes an instance that lies within the limits and the budget.
func (b *Budget) decode(text []byte) (any, bool) {
	values, ok := weight(text)
	if !ok || !b.pay(heavy*(values/2+len(text)/512)) {
		return nil, false
	}
	v, err := decode(text)
	return v, err == nil
}

// affords counts the steps of an evaluation without evaluating, every branch
// taken, and reports whether they stay within the budget.
func (b *Budget) affords(l *library, v any) bool {
	e := estimate{budget: b, l: l}
	return e.visit(l.doc, v)
}

// estimate goes through a schema and a value.
type estimate struct {
	budget *Budget
	l      *library
	depth  int
}

// maxVisits is how deep visits may nest: deeper ones go round in circles.
const maxVisits = 500

func (e *estimate) pay(n int) bool { return e.budget.pay(heavy * n) }

// visit pays for a schema on a value, and for all that they lead to.
func (e *estimate) visit(sch, v any) bool {
	o, ok := sch.(map[string]any)
	if e.depth++; e.depth > maxVisits || !e.pay(1+len(o)/4) {
		return false
	}
	defer func() { e.depth-- }()
	return !ok || e.inPlace(o, v) && e.own(o, v) && e.below(o, v)
}

// inPlace visits the subschemas that look at the same value.
func (e *estimate) inPlace(o map[string]any, v any) bool {
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		l, _ := o[k].([]any)
		for _, sub := range l {
			if !e.visit(sub, v) {
				return false
			}
		}
	}
	for _, k := range []string{"not", "if", "then", "else"} {
		if sub, ok := o[k]; ok && !e.visit(sub, v) {
			return false
		}
	}
	subs, _ := o["dependentSchemas"].(map[string]any)
	for _, sub := range subs {
		if !e.visit(sub, v) {
			return false
		}
	}
	for _, k := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := o[k].(string); ok && !e.reference(ref, v) {
			return false
		}
	}
	return true
}

// reference visits what a reference may lead to. Schemas of schemas are big.
func (e *estimate) reference(ref string, v any) bool {
	if strings.Contains(ref, "json-schema.org/") {
		return e.pay(200 * weigh(v))
	}
	for _, t := range e.l.targets(ref) {
		if !e.visit(t, v) {
			return false
		}
	}
	return true
}

// own pays for the keywords that look at the whole value.
func (e *estimate) own(o map[string]any, v any) bool {
	switch v := v.(type) {
	case string:
		if p, ok := o["pattern"].(string); ok && !e.pay(len(v)*e.l.costs[p]/100) {
			return false
		}
		if !e.pay(len(v) / 4096) {
			return false
		}
	case []any:
		if o["uniqueItems"] == true && !e.pay(2*weigh(v)) {
			return false
		}
	}
	if l, ok := o["enum"].([]any); ok {
		return e.pay(len(l)/8 + weigh(v))
	}
	_, fixed := o["const"]
	return !fixed || e.pay(weigh(v))
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
func (e *estimate) below(o map[string]any, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			if !e.member(o, name, m) {
				return false
			}
		}
	case []any:
		for i, m := range v {
			if !e.element(o, i, m) {
				return false
			}
		}
	}
	return true
}

func (e *estimate) member(o map[string]any, name string, v any) bool {
	props, _ := o["properties"].(map[string]any)
	if sub, ok := props[name]; ok && !e.visit(sub, v) {
		return false
	}
	patterns, _ := o["patternProperties"].(map[string]any)
	for p, sub := range patterns {
		if !e.pay(1+len(name)*e.l.costs[p]/100) || !e.visit(sub, v) {
			return false
		}
	}
	if sub, ok := o["propertyNames"]; ok && !e.visit(sub, name) {
		return false
	}
	for _, k := range []string{"additionalProperties", "unevaluatedProperties"} {
		if sub, ok := o[k]; ok && !e.visit(sub, v) {
			return false
		}
	}
	return true
}

func (e *estimate) element(o map[string]any, i int, v any) bool {
	tuple, _ := o["prefixItems"].([]any)
	if i < len(tuple) && !e.visit(tuple[i], v) {
		return false
	}
	for _, k := range []string{"items", "contains", "unevaluatedItems"} {
		if sub, ok := o[k]; ok && !e.visit(sub, v) {
			return false
		}
	}
	return e.pay(1)
}
