package jsonstream

import (
	"bytes"
	"encoding/json"
)

// Token is one step into a value: an element of an array or a member of an object.
type Token struct {
	Key   string
	Index int
	Array bool
}

// maxTokens bounds how deep a path goes; what lies deeper is named by its ancestor.
const maxTokens = 32

// Span is where a value lies in its text, and the key in front of it if it is
// a member. End and KeyEnd are just behind the last byte.
type Span struct{ KeyStart, KeyEnd, Start, End int }

// Pointer is the way to the value at or around position off of a text that is
// JSON up to there.
func Pointer(text []byte, off int) []Token {
	var path []Token
	var pending bool // the innermost object is between a key and its value's end
	depth := 0
	for i := 0; i < off; {
		switch b := text[i]; b {
		case '{', '[':
			if depth++; depth <= maxTokens {
				path = append(path, Token{Array: b == '[', Index: 0})
			}
			pending = false
		case '}', ']':
			if depth--; depth < len(path) {
				path = path[:depth]
			}
			pending = true
		case ',':
			if depth == len(path) && depth > 0 {
				t := &path[depth-1]
				t.Index, t.Key = t.Index+1, ""
			}
			pending = false
		case ':':
			pending = true
		case '"':
			end := skipString(text[:off], i)
			if depth == len(path) && depth > 0 && !path[depth-1].Array && !pending {
				path[depth-1].Key = unquote(text[i:end])
			}
			i = end
			continue
		}
		i++
	}
	return trim(path, pending)
}

// trim drops the last step where it names no value yet: an object of which no
// key is known.
func trim(path []Token, pending bool) []Token {
	if n := len(path); n > 0 && !path[n-1].Array && path[n-1].Key == "" && !pending {
		return path[:n-1]
	}
	return path
}

// Locate finds the value at path in a valid text. Of two members with one key
// the last one counts. If the path leads nowhere it finds the nearest ancestor
// and reports false.
func Locate(text []byte, path []string) (s Span, way []Token, ok bool) {
	s.Start = skipSpace(text, 0)
	s.End = skipValue(text, s.Start)
	for _, want := range path {
		next, t, found := child(text, s, want)
		if !found {
			return s, way, false
		}
		s, way = next, append(way, t)
	}
	return s, way, true
}

func child(text []byte, s Span, want string) (found Span, t Token, ok bool) {
	array := text[s.Start] == '['
	for m, n := range Members(text, s.Start) {
		if array {
			if itoa(n) == want {
				return m, Token{Index: n, Array: true}, true
			}
			continue
		}
		if unquote(text[m.KeyStart:m.KeyEnd]) == want {
			found, t, ok = m, Token{Key: want}, true
		}
	}
	return found, t, ok
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// Members goes through the members or elements of the container at i of a
// valid text, and numbers them. It yields nothing for another value.
func Members(text []byte, i int) func(yield func(Span, int) bool) {
	return func(yield func(Span, int) bool) {
		if i >= len(text) || text[i] != '{' && text[i] != '[' {
			return
		}
		object := text[i] == '{'
		i = skipSpace(text, i+1)
		for n := 0; i < len(text) && text[i] != '}' && text[i] != ']'; n++ {
			var s Span
			if object {
				s.KeyStart, s.KeyEnd = i, skipString(text, i)
				i = skipSpace(text, skipSpace(text, s.KeyEnd)+1)
			}
			s.Start, s.End = i, skipValue(text, i)
			if !yield(s, n) {
				return
			}
			if i = skipSpace(text, s.End); i < len(text) && text[i] == ',' {
				i = skipSpace(text, i+1)
			}
		}
	}
}

// Repeats reports whether text is one complete value, of the given length, and
// nothing but further copies of it behind.
func Repeats(text []byte, length int) bool {
	start := skipSpace(text, 0)
	first := text[start:length]
	copies := 0
	for rest := text[length:]; ; copies++ {
		rest = rest[skipSpace(rest, 0):]
		if len(rest) == 0 {
			return copies > 0
		}
		if !bytes.HasPrefix(rest, first) {
			return false
		}
		rest = rest[len(first):]
	}
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && space(text[i]) {
		i++
	}
	return i
}

// skipString is the position behind the string at i, or the end of the text.
func skipString(text []byte, i int) int {
	for from := i + 1; from < len(text); {
		n := bytes.IndexByte(text[from:], '"')
		if n < 0 {
			break
		}
		before := text[i : from+n]
		if from += n + 1; before[len(before)-1] != '\\' || (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 0 {
			return from
		}
	}
	return len(text)
}

// skipValue is the position behind the value at i of a valid text.
func skipValue(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch b := text[i]; {
		case b == '"':
			i = skipString(text, i)
		case b == '{' || b == '[':
			depth++
			i++
			continue
		case b == '}' || b == ']':
			depth--
			i++
		case space(b) || b == ',' || b == ':':
			i++
			continue
		default:
			i = skipScalar(text, i)
		}
		if depth <= 0 {
			return i
		}
	}
	return len(text)
}

func skipScalar(text []byte, i int) int {
	for i < len(text) && !space(text[i]) && bytes.IndexByte([]byte(`,:{}[]"`), text[i]) < 0 {
		i++
	}
	return i
}

// unquote decodes a quoted string; what cannot be decoded stands as it is.
func unquote(q []byte) string { return string(unquoted(q)) }

// unquoted is unquote, in the string's own bytes where that can be.
func unquoted(q []byte) []byte {
	if len(q) >= 2 && bytes.IndexByte(q, '\\') < 0 {
		return q[1 : len(q)-1]
	}
	var s string
	if json.Unmarshal(q, &s) != nil {
		return q
	}
	return []byte(s)
}
