package schema

import (
	"encoding/json"
	"strconv"
	"strings"
)

// report notes a violation that an eval told of.
func (c *Checker) report(e *eval, f failure) {
	if len(c.found) >= maxViolations {
		return
	}
	if f.at != c.at && f.level > e.level {
		f.level, f.name = e.level, ""
	}
	v := Violation{Class: f.class, At: c.at, Pointer: c.pointer(f.level)}
	switch {
	case f.name != "":
		v.Pointer += "/" + escapes.Replace(f.name)
	case c.isKey && f.class == Additional:
		v.Pointer += "/*"
	case f.class == Type && c.kind == tString && f.level == len(c.frames):
		c.minor = append(c.minor, hint{len(c.found), f.want})
	}
	c.found = append(c.found, v)
}

// escapes returns what escapes the names in a pointer, as RFC 6901 has it.
var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer leads to the value that lies within that many others. Names that the
// schema does not know are the model's text: they are told as *.
func (c *Checker) pointer(level int) string {
	var b strings.Builder
	for i := range c.frames[:min(level, len(c.frames))] {
		f := &c.frames[i]
		b.WriteByte('/')
		if f.array {
			b.WriteString(strconv.Itoa(f.count - 1))
			continue
		}
		end := len(c.keys)
		if i+1 < len(c.frames) {
			end = c.frames[i+1].keys
		}
		if name := string(c.keys[f.keys:end]); c.s.names[name] {
			b.WriteString(escapes.Replace(name))
		} else {
			b.WriteByte('*')
		}
	}
	return b.String()
}

// readsLike reports whether a string is the spelling of a scalar of the types.
func readsLike(text []byte, want mask) bool {
	var x any
	if len(text) > maxMinor || json.Unmarshal(text, &x) != nil {
		return false
	}
	switch x.(type) {
	case float64:
		return want&(tNumber|tInteger) != 0
	case bool:
		return want&tBool != 0
	case nil:
		return want&tNull != 0
	}
	return false
}
