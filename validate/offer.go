package validate

import (
	"bytes"
	"hash/maphash"

	"turnwatch/validate/schema"
	"turnwatch/validate/wire"
)

// offered is the functions that a request offers. It may be shared by many
// requests, and is not changed.
type offered struct {
	tools map[string]tool
	order []string        // their names
	names map[string]bool // the same
	kept  int             // bytes of their parameters

	strict bool // the server is to enforce the schema of some
}

// tool is a function that the request offers.
type tool struct {
	name       string
	parameters []byte // nil for any object
	first      []byte // those of the first tool of that name, as they are written; nil if it has none
	twice      bool   // there are several of that name
	large      bool   // the schema exceeded the limit and was not kept
	strict     bool   // the server is to enforce the schema
}

// maxSchemas is how many bytes of schemas are kept of a request; further ones
// are not held against.
const maxSchemas = 1 << 20

// offer takes in a list of tools, and returns what it is remembered by.
func (s *Schemas) offer(list []wire.Tool) (o offered, key uint64) {
	key = s.prompts.ofTools(list)
	o, ok := s.offers.get(key)
	if !ok {
		o = newOffered(list)
		s.offers.put(key, o, o.held())
	}
	return o, key
}

// ofTools hashes all that newOffered looks at.
func (c *prompts) ofTools(list []wire.Tool) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, t := range list {
		h.Write(t.Name.Raw)
		h.WriteByte('"') // ends a name
		if t.Strict {
			h.WriteByte(1)
		}
		h.Write(t.Parameters)
		h.WriteByte(0) // not part of JSON
	}
	return h.Sum64()
}

func newOffered(list []wire.Tool) offered {
	o := offered{tools: make(map[string]tool, len(list)), names: make(map[string]bool, len(list))}
	for _, t := range list {
		o.add(t)
	}
	for _, t := range o.tools {
		o.strict = o.strict || t.strict
	}
	return o
}

func (o *offered) add(w wire.Tool) {
	name := w.Name.String()
	t := tool{name: name, strict: w.Strict, large: len(w.Parameters) > schema.MaxBytes || o.kept+len(w.Parameters) > maxSchemas}
	if !t.large {
		t.parameters = bytes.Clone(w.Parameters)
		o.kept += len(w.Parameters)
	}
	t.first = t.parameters
	had, twice := o.tools[name]
	if twice {
		t.first, t.twice = had.first, true
	}
	switch {
	case !twice:
		o.order = append(o.order, name)
	case !bytes.Equal(had.parameters, t.parameters): // which of them the model reads is the server's choice
		t.parameters, t.strict = nil, t.strict && had.strict
	}
	o.tools[name], o.names[name] = t, true
}

// held is about how many bytes it keeps.
func (o *offered) held() int { return o.kept + 256*len(o.tools) }
