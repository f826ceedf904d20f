package agents

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
)

// fields is a JSON object whose members keep their order: what a model is shown
// does not depend on the alphabet.
type fields []field

type field struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (f fields) MarshalJSON() ([]byte, error) { return []byte(encode(f)), nil }

// dumps writes v as Python's json.dumps does, which models have seen most.
func dumps(v any) string { return string(writer{", ", ": "}.value(nil, v)) }

// encode writes v as JSON without a space and without escapes it does not need.
func encode(v any) string { return string(writer{",", ":"}.value(nil, v)) }

// writer writes plain data as JSON. It is its own for the order of members and
// because what a session asks is made anew for every turn.
type writer struct{ comma, colon string }

func (w writer) value(b []byte, v any) []byte {
	switch v := v.(type) {
	case fields:
		b = append(b, '{')
		for i, m := range v {
			b = plain(w.next(b, i), m.name)
			b = w.value(append(b, w.colon...), m.value)
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, e := range v {
			b = w.value(w.next(b, i), e)
		}
		return append(b, ']')
	}
	return plain(b, v)
}

// next separates the ith element from the one before it.
func (w writer) next(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, w.comma...)
	}
	return b
}

// plain writes what is neither an object nor a list of them.
func plain(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		if simple(v) {
			return append(append(append(b, '"'), v...), '"')
		}
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case bool:
		return strconv.AppendBool(b, v)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("agents: " + err.Error()) // plain data always encodes
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// simple reports whether JSON needs no escape for s.
func simple(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// same reports whether raw is want, whatever the escapes in it, the order of its
// members or the spelling of its numbers.
func same(raw json.RawMessage, want any) bool {
	var a, b any
	return json.Unmarshal(raw, &a) == nil && json.Unmarshal([]byte(encode(want)), &b) == nil && reflect.DeepEqual(a, b)
}
