package schema

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// How many random documents TestAgreesWithTheLibrary judges, and which.
var (
	documents = flag.Int("documents", 20_000, "random documents to judge by program and library alike")
	seed      = flag.Uint64("seed", 1, "which random documents")
)

// differing are the schemas on which program and library must agree. Between
// them they use every keyword of the program, alone and together.
func differing() []string {
	return []string{
		`true`, `false`, `{}`,
		`{"type":"object"}`, `{"type":["string","null"]}`, `{"type":"integer"}`, `{"type":"number"}`, `{"type":["integer","string"]}`,
		`{"enum":[1,"a",null,true,[1,2],{"a":1}]}`, `{"const":{"a":[1,{"b":null}]}}`, `{"enum":["alpha","beta","alphabet","","gamma"]}`,
		`{"minimum":0,"maximum":10}`, `{"exclusiveMinimum":-1.5,"exclusiveMaximum":2.25}`, `{"multipleOf":0.5}`, `{"type":"integer","multipleOf":3}`,
		`{"enum":[0,1.5,-2,1e2]}`,
		`{"minLength":1,"maxLength":3}`, `{"pattern":"^a+b?$"}`, `{"type":"string","pattern":"[0-9]","maxLength":4}`,
		`{"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"]}`,
		`{"properties":{"a":{},"ab":{},"abc":{}},"additionalProperties":false}`,
		`{"properties":{"a":{"type":"boolean"}},"additionalProperties":{"type":"integer"}}`,
		`{"patternProperties":{"^a":{"type":"integer"},"b$":{"minimum":1}},"additionalProperties":false}`,
		`{"propertyNames":{"maxLength":2,"pattern":"^[a-c]"}}`, `{"propertyNames":{"enum":["a","ab"]}}`,
		`{"minProperties":1,"maxProperties":2}`, `{"dependentRequired":{"a":["b","c"],"b":["a"]}}`,
		`{"dependentSchemas":{"a":{"required":["b"]},"b":{"properties":{"c":{"type":"string"}}}}}`,
		`{"properties":{"a":false,"b":true}}`,
		`{"items":{"type":"integer"}}`, `{"prefixItems":[{"type":"string"},{"minimum":1}],"items":false}`, `{"prefixItems":[true,false]}`,
		`{"prefixItems":[{"const":1}],"items":{"type":"string"}}`, `{"minItems":1,"maxItems":2}`, `{"uniqueItems":true}`,
		`{"uniqueItems":true,"items":{"uniqueItems":true}}`,
		`{"contains":{"type":"integer"}}`, `{"contains":{"const":1},"minContains":2,"maxContains":3}`, `{"contains":{"type":"string"},"minContains":0,"maxContains":1}`,
		`{"allOf":[{"required":["a"]},{"properties":{"a":{"minimum":1}}}]}`,
		`{"anyOf":[{"type":"string","maxLength":2},{"type":"object","required":["a"]},{"type":"array","items":{"type":"integer"}}]}`,
		`{"oneOf":[{"minimum":2},{"multipleOf":3},{"type":"string"}]}`, `{"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
		`{"not":{"type":"string"}}`, `{"not":{"properties":{"a":{"type":"integer"}},"required":["a"]}}`, `{"not":{"not":{"minimum":1}}}`, `{"not":{}}`,
		`{"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`,
		`{"if":{"type":"string"},"then":{"minLength":2}}`, `{"if":{"type":"array"},"else":{"type":"integer"}}`, `{"if":true,"then":{"type":"object"}}`, `{"if":false,"else":{"enum":[1,2]}}`,
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"type":"array","items":{"$ref":"#/$defs/n"}}},"additionalProperties":false}}}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"$ref":"#"}]},"b":{"oneOf":[{"$ref":"#"},{"type":"null"}]}}}`,
		`{"anyOf":[{"properties":{"a":{"enum":["alpha","beta"]}},"required":["a"]},{"properties":{"a":{"enum":["alphabet"]},"b":{"type":"integer"}},"required":["b"]}]}`,
		`{"anyOf":[{"anyOf":[{"type":"integer"},{"type":"null"}]},{"allOf":[{"type":"string"},{"minLength":2}]}]}`,
		`{"items":{"oneOf":[{"type":"object","properties":{"a":{"const":"alpha"},"b":{"type":"integer"}},"required":["a"]},{"type":"object","properties":{"a":{"const":"beta"}},"required":["a","c"]}]}}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","minItems":1,"items":{"type":"object","properties":{"a":{"type":"string"},"c":{"type":"string"}},"required":["a","c"],"additionalProperties":false}}},"required":["a","b"],"additionalProperties":false}`,
		`{"allOf":[{"if":{"required":["a"]},"then":{"not":{"required":["b"]}}},{"dependentSchemas":{"c":{"maxProperties":2}}}]}`,
		`{"uniqueItems":true,"contains":{"enum":[[1],{"a":1},"a"]},"maxItems":4}`,
		`{"properties":{"a":{"uniqueItems":true},"b":{"enum":[{"a":1,"b":[]},[]]}},"minProperties":1}`,
		`{"patternProperties":{"a":{"anyOf":[{"type":"integer"},{"pattern":"b"}]}},"propertyNames":{"not":{"const":"abc"}}}`,
		`{"anyOf":[{"not":{"contains":{"type":"integer"}}},{"maxItems":1}]}`,
		`{"oneOf":[{"type":"array","prefixItems":[{"type":"integer"}]},{"type":"array","uniqueItems":true},{"type":"object","minProperties":2}]}`,
		`{"type":["object","array"],"properties":{"a":{"type":"number","exclusiveMaximum":3}},"items":{"properties":{"b":{"$ref":"#/properties/a"}}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"},{"type":"string"}],"additionalItems":false,"dependencies":{"a":["b"],"b":{"required":["c"]}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/x","type":"string"}},"definitions":{"x":{"type":"integer"}}}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":[{"type":"integer"}],"additionalItems":{"type":"string"}}`,
	}
}

// mixed are random combinations of the schemas.
func mixed(r *rand.Rand, n int) (out []string) {
	var base []string
	for _, s := range differing() {
		if !strings.Contains(s, "$") {
			base = append(base, s)
		}
	}
	any := func() string { return base[r.IntN(len(base))] }
	for range n {
		switch r.IntN(9) {
		case 0:
			out = append(out, fmt.Sprintf(`{"anyOf":[%s,%s,%s]}`, any(), any(), any()))
		case 1:
			out = append(out, fmt.Sprintf(`{"oneOf":[%s,%s,%s]}`, any(), any(), any()))
		case 2:
			out = append(out, fmt.Sprintf(`{"allOf":[%s,{"anyOf":[%s,%s]}]}`, any(), any(), any()))
		case 3:
			out = append(out, fmt.Sprintf(`{"not":{"allOf":[%s,%s]}}`, any(), any()))
		case 4:
			out = append(out, fmt.Sprintf(`{"if":%s,"then":%s,"else":%s}`, any(), any(), any()))
		case 5:
			out = append(out, fmt.Sprintf(`{"properties":{"a":%s,"b":%s},"additionalProperties":%s}`, any(), any(), any()))
		case 6:
			out = append(out, fmt.Sprintf(`{"items":{"oneOf":[%s,%s]},"contains":%s}`, any(), any(), any()))
		case 7:
			out = append(out, fmt.Sprintf(`{"anyOf":[{"items":%s,"minItems":1},{"properties":{"a":%s,"b":%s},"minProperties":1}]}`, any(), any(), any()))
		default:
			out = append(out, fmt.Sprintf(`{"dependentSchemas":{"a":%s},"propertyNames":%s,"patternProperties":{"^a":%s}}`, any(), any(), any()))
		}
	}
	return out
}

// maker makes random documents that nearly conform to a schema.
type maker struct {
	*rand.Rand
	root any
	b    strings.Builder
}

func (g *maker) document(schema any) string {
	g.b.Reset()
	g.root = schema
	g.value(schema, 4)
	return g.b.String()
}

func (g *maker) pick(s ...string) string { return s[g.IntN(len(s))] }

func (g *maker) value(schema any, depth int) {
	o, ok := schema.(map[string]any)
	if !ok || depth == 0 || g.IntN(12) == 0 {
		g.any(depth)
		return
	}
	var ways []func()
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		if l, ok := o[k].([]any); ok {
			ways = append(ways, func() { g.value(l[g.IntN(len(l))], depth) })
		}
	}
	for _, k := range []string{"not", "if", "then", "else"} {
		if sub, ok := o[k]; ok {
			ways = append(ways, func() { g.value(sub, depth) })
		}
	}
	if ref, ok := o["$ref"].(string); ok {
		target, _ := resolve(g.root, ref)
		ways = append(ways, func() { g.value(target, depth) })
	}
	if l, ok := o["enum"].([]any); ok {
		ways = append(ways, func() { g.literal(l[g.IntN(len(l))]) })
	}
	if v, ok := o["const"]; ok {
		ways = append(ways, func() { g.literal(v) })
	}
	for _, t := range g.types(o) {
		ways = append(ways, func() { g.typed(t, o, depth) })
	}
	ways[g.IntN(len(ways))]()
}

func (g *maker) types(o map[string]any) []string {
	switch t := o["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var out []string
		for _, e := range t {
			out = append(out, e.(string))
		}
		return out
	}
	var out []string
	for k := range o {
		switch {
		case strings.Contains(k, "ropert") || k == "required" || strings.HasPrefix(k, "depend"):
			out = append(out, "object")
		case strings.Contains(k, "tems") || strings.Contains(k, "ontains"):
			out = append(out, "array")
		case strings.HasSuffix(k, "Length") || k == "pattern":
			out = append(out, "string")
		case strings.HasSuffix(k, "imum") || k == "multipleOf":
			out = append(out, "number")
		}
	}
	if len(out) == 0 {
		out = []string{"null", "object", "array", "string", "number"}
	}
	return out
}

func (g *maker) typed(t string, o map[string]any, depth int) {
	switch t {
	case "object":
		g.object(o, depth)
	case "array":
		g.array(o, depth)
	case "string":
		g.text(g.word())
	case "number", "integer":
		g.b.WriteString(g.number())
	case "boolean":
		g.b.WriteString(g.pick("true", "false"))
	default:
		g.b.WriteString("null")
	}
}

func (g *maker) word() string {
	return g.pick("", "a", "b", "c", "ab", "abc", "aab", "alpha", "alphabet", "beta", "gamma", "é", "日本語", "12", "a\"b", "😀x", "aaaa")
}

func (g *maker) number() string {
	return g.pick("0", "1", "2", "3", "-1", "1.0", "1e0", "10e-1", "1.5", "-1.5", "2.25", "6", "9", "10", "11", "1e2", "0.5", "100", "-2.0", "0.25", "3e1", "123456789012", "-0")
}

func (g *maker) any(depth int) {
	types := []string{"null", "boolean", "number", "string", "object", "array"}
	if depth == 0 {
		types = types[:4]
	}
	g.typed(g.pick(types...), nil, depth)
}

// text writes a string, spelled in one of its ways.
func (g *maker) text(s string) {
	q, _ := json.Marshal(s)
	if g.IntN(4) > 0 {
		g.b.Write(q)
		return
	}
	g.b.WriteByte('"')
	for _, r := range s {
		switch {
		case g.IntN(2) == 0 && r < 0x10000:
			fmt.Fprintf(&g.b, `\u%04X`, r)
		case r >= 0x10000:
			fmt.Fprintf(&g.b, `\u%04x\u%04x`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3ff)
		case r == '"':
			g.b.WriteString(`\"`)
		default:
			g.b.WriteRune(r)
		}
	}
	g.b.WriteByte('"')
}

func (g *maker) literal(v any) {
	text, _ := json.Marshal(v)
	g.b.Write(text)
}

func (g *maker) space() { g.b.WriteString(g.pick("", "", "", " ", "\n\t")) }

func (g *maker) object(o map[string]any, depth int) {
	names := map[string]bool{}
	for n := range g.child(o, "properties") {
		names[n] = g.IntN(4) > 0
	}
	for range g.IntN(3) {
		names[g.pick("a", "b", "c", "ab", "abc", "ax", "xb", "d")] = true
	}
	if l, ok := o["required"].([]any); ok {
		for _, n := range l {
			names[n.(string)] = g.IntN(8) > 0
		}
	}
	g.b.WriteByte('{')
	first := true
	for n, in := range names {
		if !in {
			continue
		}
		if !first {
			g.b.WriteByte(',')
		}
		first = false
		g.space()
		g.text(n)
		g.space()
		g.b.WriteByte(':')
		g.space()
		g.member(o, n, depth)
	}
	g.space()
	g.b.WriteByte('}')
}

func (g *maker) child(o map[string]any, key string) map[string]any {
	m, _ := o[key].(map[string]any)
	return m
}

func (g *maker) member(o map[string]any, name string, depth int) {
	if sub, ok := g.child(o, "properties")[name]; ok {
		g.value(sub, depth-1)
		return
	}
	for _, sub := range g.child(o, "patternProperties") {
		g.value(sub, depth-1)
		return
	}
	if sub, ok := o["additionalProperties"]; ok {
		g.value(sub, depth-1)
		return
	}
	g.any(depth - 1)
}

func (g *maker) array(o map[string]any, depth int) {
	prefix, _ := o["prefixItems"].([]any)
	if l, ok := o["items"].([]any); ok {
		prefix = l
	}
	g.b.WriteByte('[')
	for i := range g.IntN(5) {
		if i > 0 {
			g.b.WriteByte(',')
		}
		g.space()
		switch {
		case i < len(prefix):
			g.value(prefix[i], depth-1)
		case g.IntN(3) == 0 && o["contains"] != nil:
			g.value(o["contains"], depth-1)
		case o["items"] != nil:
			g.value(o["items"], depth-1)
		default:
			g.any(depth - 1)
		}
		g.space()
	}
	g.b.WriteByte(']')
}

// changed is a document with another byte somewhere, if that makes one.
func (g *maker) changed(d string) string {
	for range 8 {
		i := g.IntN(len(d))
		other := d[:i] + g.pick("a", "b", "c", "x", "0", "1", "2", "9", ".", "e", "-", " ", "]", "}", ",", `"`) + d[i+1:]
		if fair(other) {
			return other
		}
	}
	return d
}

// fair reports whether a text is JSON on which both must agree: neither beyond
// a limit nor with a key twice or half a surrogate pair.
func fair(d string) bool {
	_, modest := weight([]byte(d))
	v, err := decode([]byte(d))
	return modest && utf8.ValidString(d) && json.Valid([]byte(d)) && err == nil && !twice(d) && !strings.Contains(fmt.Sprint(v), "\ufffd")
}

// twice reports whether an object of a document has a key twice, which the
// library does not see.
func twice(d string) bool {
	type object struct {
		keys map[string]bool
		key  bool
	}
	var open []object
	dec := json.NewDecoder(strings.NewReader(d))
	for {
		tok, err := dec.Token()
		if err != nil {
			return false
		}
		top := len(open) - 1
		name, isText := tok.(string)
		if top >= 0 && open[top].key && isText {
			if open[top].keys[name] {
				return true
			}
			open[top].keys[name], open[top].key = true, false
			continue
		}
		switch tok {
		case json.Delim('{'):
			open = append(open, object{map[string]bool{}, true})
			continue
		case json.Delim('['):
			open = append(open, object{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:top]
		}
		if top = len(open) - 1; top >= 0 {
			open[top].key = open[top].keys != nil
		}
	}
}

// TestAgreesWithTheLibrary judges random documents by program and library. It
// also holds that a violation is never told within what a valid document
// begins with, and that cuts do not matter.
func TestAgreesWithTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 2))
	schemas := append(differing(), mixed(r, 200)...)
	invalid := 0
	for _, text := range schemas {
		s := Compile([]byte(text))
		doc, err := decode([]byte(text))
		oracle := build(doc, engine, deny{})
		if err != nil || s.Status() != Ready || s.program == nil || oracle == nil {
			t.Fatalf("%s: status %d, %v", text, s.Status(), err)
		}
		g := maker{Rand: r}
		var valid string // the last document that conforms
		for range *documents / len(schemas) {
			d := g.document(doc)
			if valid != "" && r.IntN(2) == 0 {
				d = g.changed(valid)
			}
			v, err := decode([]byte(d))
			if err != nil {
				t.Fatalf("%s: %v", d, err)
			}
			found, st := s.Check([]byte(d), NewBudget())
			want := oracle.Validate(v) == nil
			if st != Ready || want != (len(found) == 0) {
				t.Errorf("%s on %s: got %+v %v, the library says valid %v", text, d, found, st, want)
			}
			agreesInPieces(t, s, r, d, found)
			if want {
				valid = d
				continue
			}
			invalid++
			if n := shared(valid, d); len(found) > 0 && first(found) < n {
				t.Errorf("%s: %s was refused at %d, but %s begins with the same %d bytes", text, d, first(found), valid, n)
			}
		}
		if t.Failed() {
			t.Fatalf("%s: seed %d", text, *seed)
		}
	}
	t.Logf("%d schemas, %d documents, %d of them invalid", len(schemas), *documents/len(schemas)*len(schemas), invalid)
}

// agreesInPieces feeds the document in random pieces.
func agreesInPieces(t *testing.T, s *Schema, r *rand.Rand, d string, want []Violation) {
	t.Helper()
	c := s.Checker(NewBudget())
	for rest := d; rest != ""; {
		n := 1 + r.IntN(min(len(rest), 7))
		c.Feed([]byte(rest[:n]))
		rest = rest[n:]
	}
	got, _ := c.Finish([]byte(d))
	c.Free()
	if len(got) != len(want) {
		t.Errorf("%s: got %+v, in pieces %+v", d, want, got)
		return
	}
	for i := range got {
		if !same(got[i], want[i]) {
			t.Errorf("%s: got %+v, in pieces %+v", d, want, got)
		}
	}
}

func first(found []Violation) int {
	at := found[0].At
	for _, v := range found {
		at = min(at, v.At)
	}
	return int(at)
}

// shared is how many bytes two texts begin with in common.
func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
