package schema

import "strings"

// types mends the names of types as SGLang does; a name that it does not know
// goes.
func (m *mender) types(o map[string]any) {
	switch t := o["type"].(type) {
	case nil:
		m.dropNil(o)
	case string:
		if name, ok := typeName(t); ok {
			o["type"] = name
		} else {
			m.drop(o, "type")
		}
	case []any:
		m.typeList(o, t)
	default:
		m.drop(o, "type")
	}
}

func (m *mender) dropNil(o map[string]any) {
	if _, ok := o["type"]; ok {
		m.drop(o, "type")
	}
}

func (m *mender) typeList(o map[string]any, l []any) {
	var out []any
	seen := map[string]bool{}
	for _, e := range l {
		t, _ := e.(string)
		name, ok := typeName(t)
		if !ok {
			m.drop(o, "type")
			return
		}
		if !seen[name] {
			seen[name], out = true, append(out, name)
		}
	}
	if o["type"] = out; len(out) == 0 {
		m.drop(o, "type")
	}
}

// aliases are the names of types that mean a standard one as a whole.
var aliases = map[string]string{
	"string": "string", "number": "number", "integer": "integer", "boolean": "boolean", "array": "array", "object": "object", "null": "null",
	"str": "string", "text": "string", "varchar": "string", "char": "string", "enum": "string", "uuid": "string", "date": "string",
	"datetime": "string", "time": "string", "timestamp": "string", "binary": "string", "blob": "string", "bytea": "string",
	"bytes": "string", "varbinary": "string", "bool": "boolean", "bigint": "integer", "smallint": "integer", "tinyint": "integer",
	"double": "number", "decimal": "number", "real": "number", "numeric": "number", "arr": "array", "tuple": "array", "set": "array",
}

// prefixes are the beginnings of names that mean a standard type, if the end
// of the name or one of "0-9[<( \t" follows.
var prefixes = []struct{ prefix, name string }{
	{"unsigned", "integer"}, {"uint", "integer"}, {"int", "integer"}, {"long", "integer"}, {"short", "integer"},
	{"num", "number"}, {"float", "number"}, {"list", "array"}, {"map", "object"}, {"dict", "object"},
}

// typeName is the standard type that a name means.
func typeName(t string) (string, bool) {
	t = strings.ToLower(strings.TrimSpace(t))
	if name, ok := aliases[t]; ok {
		return name, true
	}
	if base, _, ok := strings.Cut(t, "("); ok {
		if name, ok := aliases[strings.TrimSpace(base)]; ok {
			return name, true
		}
	}
	for _, p := range prefixes {
		rest, ok := strings.CutPrefix(t, p.prefix)
		if ok && (rest == "" || strings.IndexByte("0123456789[<( \t", rest[0]) >= 0) {
			return p.name, true
		}
	}
	return "", false
}
