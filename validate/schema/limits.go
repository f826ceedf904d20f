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
	return count(doc, 1, &nodes, maxDepth, maxNodes)
}

func count(v any, level int, nodes *int, maxDepth, maxNodes int) bool {
	if level > 2*maxDepth || *nodes > maxNodes {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		*nodes++
		for _, e := range v {
			if !count(e, level+1, nodes, maxDepth, maxNodes) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !count(e, level+1, nodes, maxDepth, maxNodes) {
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

// weight counts the values and keys of a valid JSON text without decoding it.
// It reports false if the text exceeds a limit of instances.
func weight(text []byte) (values int, ok bool) {
	if len(text) > maxInstance {
		return 0, false
	}
	level := 0
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
				return values, false
			}
			i = n - 1
		}
		if level > maxInstanceDepth || values > maxInstanceValues {
			return values, false
		}
	}
	return values, true
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
