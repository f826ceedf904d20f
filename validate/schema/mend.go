package schema

import (
	"maps"
	"slices"
	"strings"
)

// mender rewrites a schema as SGLang understands it, and drops what would make
// false alarms. A dropped constraint allows more; where allowing more inside
// forbids more outside (under not, if, oneOf, contains) the outer keyword goes too.
type mender struct {
	root     any
	draft    draft
	names    map[string]bool // of properties
	costs    map[string]int  // instructions of each pattern
	effort   int             // spent on patterns
	lost     int             // keywords dropped
	branches bool            // anyOf or oneOf occur
	dropped  bool            // something was dropped
	negative bool            // not, if, oneOf or contains occur
	refs     bool
	ids      bool // a schema inside has a name of its own
	foreign  bool // a reference is no pointer into the document
	level    int
	rest     bool // unevaluatedItems or unevaluatedProperties occur
	exotic   bool // what it means as a whole, only the library knows

	irregular bool                    // a pattern is none of RE2's
	backs     map[string]*backtracker // those that only a backtracker knows; nil: they are dropped
}

func newMender(doc any) *mender {
	return &mender{root: doc, draft: dialect(doc), names: map[string]bool{}, costs: map[string]int{}}
}

// mend returns the schema to compile; false means that it cannot be trusted.
func (m *mender) mend(doc any) (any, bool) {
	out := m.schema(doc)
	m.exotic = m.foreign || m.rest || m.ids && m.refs
	return out, !m.dropped || !m.rest && !(m.negative && m.refs)
}

// maps and lists of subschemas, and single ones.
var (
	inMaps    = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	inLists   = []string{"anyOf", "oneOf", "allOf", "prefixItems"}
	inSingles = []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"}
)

func (m *mender) schema(v any) any {
	o, ok := v.(map[string]any)
	if !ok {
		if b, ok := v.(bool); ok {
			return b
		}
		m.dropped = true
		return true
	}
	_, named := o["$id"]
	m.ids = m.ids || named && m.level > 0
	m.level++
	defer func() { m.level-- }()
	out := maps.Clone(o)
	for _, k := range []string{"$schema", "$id", "id", "$comment", "default", "examples", "example", "format", "contentSchema", "contentEncoding", "contentMediaType", "discriminator", "$vocabulary"} {
		delete(out, k)
	}
	m.types(out)
	m.older(out)
	m.legacy(out)
	m.pattern(out)
	m.ref(out)
	m.children(out)
	return out
}

// drop forgets a keyword that cannot be understood.
func (m *mender) drop(o map[string]any, key string) {
	if _, ok := o[key]; ok {
		delete(o, key)
		m.dropped = true
		m.lost++
	}
}

// children mends the subschemas.
func (m *mender) children(o map[string]any) {
	for _, k := range inMaps {
		m.inMap(o, k)
	}
	for _, k := range inLists {
		m.inList(o, k)
	}
	for _, k := range inSingles {
		v, ok := o[k]
		if !ok {
			continue
		}
		m.rest = m.rest || strings.HasPrefix(k, "unevaluated")
		m.single(o, k, v)
	}
}

func (m *mender) inMap(o map[string]any, key string) {
	v, ok := o[key]
	if !ok {
		return
	}
	subs, ok := v.(map[string]any)
	if !ok {
		m.drop(o, key)
		return
	}
	out := make(map[string]any, len(subs))
	for name, sub := range subs {
		if key == "properties" {
			m.names[name] = true
		}
		out[name] = m.schema(sub)
	}
	o[key] = out
}

// inList mends a list of subschemas. Of oneOf all must be understood, since a
// dropped constraint could make two of them hold.
func (m *mender) inList(o map[string]any, key string) {
	v, ok := o[key]
	if !ok {
		return
	}
	subs, ok := v.([]any)
	if !ok || len(subs) == 0 {
		m.drop(o, key)
		return
	}
	m.branches = m.branches || key == "anyOf" || key == "oneOf"
	outer := m.enter()
	out := make([]any, len(subs))
	for i, sub := range subs {
		out[i] = m.schema(sub)
	}
	o[key] = out
	m.leave(outer, o, key == "oneOf", key)
}

// single mends one subschema.
func (m *mender) single(o map[string]any, key string, v any) {
	outer := m.enter()
	o[key] = m.schema(v)
	m.leave(outer, o, key == "not" || key == "if" || key == "contains", key, "then", "else")
}

// enter begins to watch for dropped keywords and returns what was known before.
func (m *mender) enter() (before bool) {
	before, m.dropped = m.dropped, false
	return before
}

// leave ends the watch. In a negative place a keyword that lost something goes.
func (m *mender) leave(before bool, o map[string]any, negative bool, keys ...string) {
	m.negative = m.negative || negative
	if negative && m.dropped {
		for _, k := range keys {
			if k == keys[0] || keys[0] == "if" {
				delete(o, k)
				m.lost++
			}
		}
	}
	m.dropped = m.dropped || before
}

// legacy mends what older drafts and OpenAPI write otherwise.
func (m *mender) legacy(o map[string]any) {
	for bound, flag := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		b, ok := o[flag].(bool)
		if !ok {
			continue
		}
		delete(o, flag)
		if v, has := o[bound]; has && b {
			o[flag] = v
			delete(o, bound)
		}
	}
	if r, ok := o["required"]; ok && !wordList(r) {
		delete(o, "required")
	} else if ok {
		for _, name := range r.([]any) {
			m.names[name.(string)] = true
		}
	}
	for _, k := range []string{"$recursiveRef", "$dynamicRef"} {
		_, ok := o[k]
		m.foreign = m.foreign || ok
		m.drop(o, k)
	}
	if e, ok := o["enum"].([]any); ok && len(e) == 0 && m.draft == unstated { // more likely a slip than meant
		m.drop(o, "enum")
	}
	if null, _ := o["nullable"].(bool); null {
		m.nullable(o)
	}
	delete(o, "nullable")
}

func wordList(v any) bool {
	l, ok := v.([]any)
	return ok && !slices.ContainsFunc(l, func(e any) bool { _, ok := e.(string); return !ok })
}

// nullable lets OpenAPI's nullable:true allow null.
func (m *mender) nullable(o map[string]any) {
	switch t := o["type"].(type) {
	case string:
		o["type"] = []any{t, "null"}
	case []any:
		if !slices.Contains(t, any("null")) {
			o["type"] = append(slices.Clone(t), "null")
		}
	}
	if e, ok := o["enum"].([]any); ok && !slices.Contains(e, nil) {
		o["enum"] = append(slices.Clone(e), nil)
	}
}

// pattern drops patterns that no engine knows or that would be costly, and
// with a pattern for names what depends on which names it covers.
func (m *mender) pattern(o map[string]any) {
	if p, ok := o["pattern"]; ok {
		text, isText := p.(string)
		s, known := m.translated(text)
		switch {
		case isText && known:
			o["pattern"] = s
		case !isText || !m.split(o, text) && !m.backtracked(text):
			m.drop(o, "pattern")
		}
	}
	byName, ok := o["patternProperties"].(map[string]any)
	if !ok {
		return
	}
	out := make(map[string]any, len(byName))
	for p, sub := range byName {
		if s, ok := m.regexp(p); ok {
			out[s] = sub
			continue
		}
		m.drop(o, "additionalProperties")
		m.drop(o, "unevaluatedProperties")
		m.dropped = true
		m.lost++
	}
	o["patternProperties"] = out
}
