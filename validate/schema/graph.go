package schema

import "reflect"

// graph is where the subschemas of a schema lead.
type graph struct {
	doc       any
	loops     bool // a reference leads back to its place without entering the value
	recursive bool // a schema contains itself
}

func walkGraph(doc any) graph {
	g := graph{doc: doc}
	g.loops = g.cyclic(doc, false)
	g.recursive = !g.loops && g.cyclic(doc, true)
	return g
}

// cyclic reports whether a way through the subschemas comes back to where it
// was: of those that look at the same value only, or of all.
func (g *graph) cyclic(doc any, all bool) bool {
	const open, closed = 1, 2
	seen := map[uintptr]int{}
	var walk func(v any) bool
	walk = func(v any) bool {
		o, ok := v.(map[string]any)
		if !ok {
			return false
		}
		id := reflect.ValueOf(o).Pointer()
		if seen[id] != 0 {
			return seen[id] == open
		}
		seen[id] = open
		found := false
		g.edges(o, func(sub any, below bool) {
			if !below || all {
				found = found || walk(sub)
			}
		})
		seen[id] = closed
		return found
	}
	return g.everywhere(func(o map[string]any) bool { return walk(o) })
}

// everywhere reports whether f holds for some subschema.
func (g *graph) everywhere(f func(map[string]any) bool) bool {
	var walk func(v any) bool
	walk = func(v any) bool {
		switch v := v.(type) {
		case map[string]any:
			if f(v) {
				return true
			}
			for _, e := range v {
				if walk(e) {
					return true
				}
			}
		case []any:
			for _, e := range v {
				if walk(e) {
					return true
				}
			}
		}
		return false
	}
	return walk(g.doc)
}

// edges calls f with each subschema that o leads to; below says that it looks
// at a member or an element.
func (g *graph) edges(o map[string]any, f func(sub any, below bool)) {
	for _, k := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		l, _ := o[k].([]any)
		for _, sub := range l {
			f(sub, k == "prefixItems")
		}
	}
	for _, k := range []string{"not", "if", "then", "else"} {
		f(o[k], false)
	}
	for _, k := range []string{"items", "additionalProperties", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"} {
		f(o[k], true)
	}
	for _, k := range []string{"properties", "patternProperties", "dependentSchemas"} {
		m, _ := o[k].(map[string]any)
		for _, sub := range m {
			f(sub, k != "dependentSchemas")
		}
	}
	if ref, ok := o["$ref"].(string); ok {
		target, _ := resolve(g.doc, ref)
		f(target, false)
	}
}
