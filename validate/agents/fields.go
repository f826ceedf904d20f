package agents

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// fields is a JSON object whose members keep their order: what a model is shown
// does not depend on the alphabet.
type fields []field

type field struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (f fields) MarshalJSON() ([]byte, error) { return []byte(f.text(",", ":", encode)), nil }

// text writes the members with the separators given.
func (f fields) text(comma, colon string, value func(any) string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range f {
		if i > 0 {
			b.WriteString(comma)
		}
		b.WriteString(encode(m.name) + colon + value(m.value))
	}
	b.WriteByte('}')
	return b.String()
}

// get returns a member's value, nil where there is none.
func (f fields) get(name string) any {
	for _, m := range f {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// dumps writes v as Python's json.dumps does, which models have seen most.
func dumps(v any) string {
	if f, ok := v.(fields); ok {
		return f.text(", ", ": ", dumps)
	}
	return encode(v)
}

// encode writes plain data as JSON without escapes it does not need.
func encode(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("agents: " + err.Error()) // plain data always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// same reports whether raw is want, whatever the escapes in it, the order of its
// members or the spelling of its numbers.
func same(raw json.RawMessage, want any) bool {
	var a, b any
	return json.Unmarshal(raw, &a) == nil && json.Unmarshal([]byte(encode(want)), &b) == nil && reflect.DeepEqual(a, b)
}
