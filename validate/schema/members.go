package schema

import (
	"maps"
	"slices"
)

// members reads what holds for objects.
func (b *builder) members(n *node, o map[string]any) {
	props := b.schemas(o, "properties")
	depends := b.schemas(o, "dependentSchemas")
	required := b.strings(o["required"])
	needs := b.needs(o)
	n.name(props, depends, required, needs)
	for name, sub := range props {
		s := &n.slots[n.names.index(name)]
		s.declared, s.node = true, b.node(sub)
	}
	for name, sub := range depends {
		n.depends = append(n.depends, dependent{n.names.index(name), b.node(sub)})
	}
	for _, name := range listed(required) {
		n.required = append(n.required, n.names.index(name))
	}
	for name, others := range needs {
		n.needy = append(n.needy, n.names.index(name))
		s := &n.slots[n.names.index(name)]
		for _, other := range others {
			s.needs = append(s.needs, n.names.index(other))
		}
	}
	slices.Sort(n.needy)
	b.others(n, o)
}

// others reads what holds for properties that are not named.
func (b *builder) others(n *node, o map[string]any) {
	for p, sub := range b.schemas(o, "patternProperties") {
		n.patterns = append(n.patterns, byPattern{b.pattern(p), b.node(sub)})
	}
	n.rest, n.keys = b.one(o, "additionalProperties"), b.one(o, "propertyNames")
	n.closed = n.rest != nil && n.rest.never
	n.minProps, n.maxProps = b.size(o, "minProperties", 0), b.size(o, "maxProperties", -1)
}

// name lists the names that occur.
func (n *node) name(props, depends map[string]any, required []string, needs map[string][]string) {
	var all []string
	for name := range maps.Keys(props) {
		all = append(all, name)
	}
	for name := range maps.Keys(depends) {
		all = append(all, name)
	}
	all = append(all, required...)
	for name, others := range needs {
		all = append(append(all, name), others...)
	}
	n.names = listed(all)
	n.slots = make([]slot, len(n.names))
}

// schemas reads a keyword that holds schemas by names.
func (b *builder) schemas(o map[string]any, key string) map[string]any {
	v, ok := o[key]
	m, isMap := v.(map[string]any)
	if ok && !isMap {
		b.err = errUnusable
	}
	return m
}

func (b *builder) strings(v any) []string {
	if v == nil {
		return nil
	}
	if !wordList(v) {
		b.err = errUnusable
		return nil
	}
	var out []string
	for _, e := range v.([]any) {
		out = append(out, e.(string))
	}
	return out
}

func (b *builder) needs(o map[string]any) map[string][]string {
	out := map[string][]string{}
	for name, v := range b.schemas(o, "dependentRequired") {
		out[name] = b.strings(v)
	}
	return out
}

// simple reports whether only types are restricted.
func (n *node) simple() bool {
	return !n.never && len(n.must) == 0 && len(n.groups) == 0 && len(n.not) == 0 && n.cond == nil && len(n.depends) == 0 &&
		len(n.enums) == 0 && len(n.limits) == 0 && len(n.step) == 0 && n.minRune == 0 && n.maxRune < 0 && n.pattern == nil &&
		len(n.names) == 0 && len(n.patterns) == 0 && n.rest == nil && n.keys == nil && n.minProps == 0 && n.maxProps < 0 &&
		len(n.prefix) == 0 && n.items == nil && n.contains == nil && n.minItems == 0 && n.maxItems < 0 && !n.unique
}

// short leaves out nodes that only lead to another one, and those that allow
// everything.
func short(n *node) *node {
	for n != nil && n.hop() {
		n = n.must[0]
	}
	if n != nil && n.plain && n.types == anyType {
		return nil
	}
	return n
}

// hop reports whether the node is nothing but a reference.
func (n *node) hop() bool {
	if len(n.must) != 1 || n.types != anyType {
		return false
	}
	bare := *n
	bare.must = nil
	return bare.simple()
}

// shorten shortens the ways from n. Where it matters that there is a schema,
// one that allows everything stays.
func (n *node) shorten() {
	kept := n.must[:0:0]
	for _, m := range n.must {
		if m = short(m); m != nil {
			kept = append(kept, m)
		}
	}
	if len(n.must) != 1 || len(kept) != 0 {
		n.must = kept
	}
	for i := range n.slots {
		n.slots[i].node = short(n.slots[i].node)
	}
	for i := range n.patterns {
		n.patterns[i].node = short(n.patterns[i].node)
	}
	for i := range n.prefix {
		n.prefix[i] = short(n.prefix[i])
	}
	n.rest, n.items, n.keys = short(n.rest), short(n.items), short(n.keys)
}
