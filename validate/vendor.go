package validate

import (
	"bytes"
	"encoding/json"
	"slices"

	"turnwatch/validate/jsonstream"
	"turnwatch/validate/markup"
	"turnwatch/validate/schema"
	"turnwatch/validate/wire"
)

// Vendor is what the verifiers of model vendors would say of the first choice of
// a turn of chat completions, with their own rules, so that their figures can be
// held against ours. It makes no verdict.
type Vendor struct {
	// K2VV is valid, invalid or no_call where the choice finished for tool calls:
	// whether K2-Vendor-Verifier takes all its calls for valid; unknown where that
	// would cost too much.
	K2VV string `json:"k2vv,omitempty"`
	// OpenRouter is ok, invalid_json, unknown_name, schema_mismatch or unknown where
	// there are calls: the first error that OpenRouter's tool call error rate counts.
	OpenRouter string `json:"openrouter,omitempty"`
	// OnlyReasoning says that there is reasoning, and neither content nor a call.
	OnlyReasoning bool `json:"only_reasoning,omitempty"`
	// Cyrillic says that the content has letters of U+0400 to U+04FF.
	Cyrillic bool `json:"cyrillic,omitempty"`
}

// What verifiers say of a call, or of all of a turn.
const (
	VendorValid   = "valid"
	VendorInvalid = "invalid"
	VendorNoCall  = "no_call"
	VendorUnknown = "unknown"
	VendorOK      = "ok"
	VendorJSON    = "invalid_json"
	VendorName    = "unknown_name"
	VendorSchema  = "schema_mismatch"
)

// vendor makes the view of the vendors; nil if they have nothing to say.
func (c *Checker) vendor() *Vendor {
	if c.req.dialect != wire.Chat || len(c.choices) == 0 || c.choices[0].index != 0 {
		return nil
	}
	ch := c.choices[0]
	var few [4]vendorCall
	calls := c.folded(few[:0], ch)
	content, thought := ch.texts[markup.Content], ch.texts[markup.Reasoning]
	said := content != nil && content.solid
	v := Vendor{OnlyReasoning: thought != nil && thought.solid && !said && len(calls) == 0, Cyrillic: content != nil && content.cyrillic}
	if len(calls) > 0 {
		v.K2VV, v.OpenRouter = c.vendors(calls)
	}
	switch {
	case ch.finish != "tool_calls" || ch.another: // the last reason counts there, whatever it is
		v.K2VV = ""
	case len(calls) == 0:
		v.K2VV = VendorNoCall
	}
	if v == (Vendor{}) {
		return nil
	}
	t := c.extras()
	t.vendor = v
	return &t.vendor
}

// vendorCall is a call as the vendors' clients put it together.
type vendorCall struct {
	index int
	name  string
	args  []byte
	null  bool // no arguments at all
	sound bool // nothing is wrong with it by our own rules
}

// folded appends the calls, put together by their index alone, which is 0 where there is
// none, as these clients do: a name that comes later replaces the one before.
func (c *Checker) folded(all []vendorCall, ch *choice) []vendorCall {
	for _, k := range ch.calls {
		index := k.index
		if k.unindexed {
			index = 0
		}
		i := slices.IndexFunc(all, func(v vendorCall) bool { return v.index == index })
		if i < 0 || c.form == whole {
			all = append(all, vendorCall{index: index, name: k.last0(), args: k.args, null: k.null, sound: c.sound(ch, k)})
			continue
		}
		v := &all[i]
		if name := k.last0(); name != "" {
			v.name = name
		}
		v.args, v.sound = append(slices.Clip(v.args), k.args...), false
	}
	return all
}

// last0 is the name as it came last, which of one in pieces is the last piece.
func (k *call) last0() string {
	if k.tail != "" {
		return k.tail
	}
	return k.name
}

// sound reports whether our own judge found arguments that are an object and
// nothing wrong with them or their call.
func (c *Checker) sound(ch *choice, k *call) bool {
	if k.machine.Code() != jsonstream.OK || k.machine.Lead() != '{' || k.tail != "" || len(c.skips) > 0 {
		return false
	}
	return !slices.ContainsFunc(c.findings, func(f Finding) bool { return f.Choice == ch.index && f.Call != nil && *f.Call == k.index })
}

// vendors says what K2-Vendor-Verifier and OpenRouter say of the calls together.
func (c *Checker) vendors(calls []vendorCall) (k2, or string) {
	k2, or = VendorValid, VendorOK
	left := maxVendorArgs
	for i := range calls {
		one, other := c.vendorCall(&calls[i], &left)
		if k2 == VendorValid || k2 == VendorUnknown && one == VendorInvalid {
			k2 = one
		}
		if or == VendorOK || or == VendorUnknown && other != VendorOK {
			or = other
		}
	}
	return k2, or
}

// maxVendorArgs is how many bytes of arguments of a turn are read once more for
// what vendors say: those of calls that our own judge finds fault with.
const maxVendorArgs = 32 << 10

func (c *Checker) vendorCall(v *vendorCall, left *int) (k2, or string) {
	t, offered := c.req.tools[v.name]
	if v.sound && offered && !t.twice && !falsy(t.first) && c.whole(v.name) {
		return VendorValid, VendorOK
	}
	if *left -= len(v.args); *left < 0 {
		return VendorUnknown, VendorUnknown
	}
	parsed, loose := object(v.args)
	switch {
	case v.null, parsed == nil && loose == nil:
		return VendorInvalid, VendorJSON
	case !offered && parsed == nil:
		return VendorInvalid, VendorJSON
	case !offered:
		return VendorInvalid, VendorName
	}
	k2 = c.conforms(v.name, t, loose)
	if falsy(t.first) {
		k2 = VendorInvalid // "no schema found"
	}
	switch {
	case parsed == nil:
		or = VendorJSON
	case k2 == VendorInvalid && !falsy(t.first) && c.mended(v.name, t):
		or = VendorOK // a schema that does not compile forbids nothing
	case k2 == VendorInvalid && !falsy(t.first), bytes.Equal(t.first, []byte("false")):
		or = VendorSchema
	default:
		or = VendorOK
	}
	return k2, or
}

// conforms holds arguments against the first schema of the name.
func (c *Checker) conforms(name string, t tool, args []byte) string {
	if t.large {
		return VendorUnknown
	}
	s := c.firstSchema(name, t)
	if s.Lost() > 0 || s.Status() == schema.Unusable {
		return VendorInvalid // the schema itself is refused
	}
	switch found, st := s.Check(args, c.budget); {
	case st == schema.Unusable:
		return VendorInvalid
	case st != schema.Ready:
		return VendorUnknown
	case len(found) > 0:
		return VendorInvalid
	}
	return VendorValid
}

// mended reports whether the schema is none as it is written.
func (c *Checker) mended(name string, t tool) bool {
	s := c.firstSchema(name, t)
	return s.Lost() > 0 || s.Status() == schema.Unusable
}

// whole reports whether nothing of the tool's schema was left out.
func (c *Checker) whole(name string) bool {
	s := c.schema(name)
	return s != nil && s.Status() == schema.Ready && s.Lost() == 0
}

// firstSchema is the schema of the first tool of the name.
func (c *Checker) firstSchema(name string, t tool) *schema.Schema {
	s := c.schema(name)
	if !t.twice {
		return s
	}
	var memory *schema.Cache
	if c.req.Schemas != nil {
		memory = c.req.Schemas.cache
	}
	return c.budget.Compile(memory, t.first)
}

// falsy reports whether a schema is one that Python takes for nothing.
func falsy(raw []byte) bool {
	if len(raw) > 64 {
		return false
	}
	switch string(bytes.Join(bytes.Fields(raw), nil)) {
	case "", "{}", "false", "null", "0", `""`, "[]":
		return true
	}
	return false
}

// object reads arguments: parsed as JSON has it, loose as Python reads it, with
// NaN and Infinity for numbers; nil if they are none. Of a key that stands twice
// both keep the last.
func object(args []byte) (parsed, loose []byte) {
	if parsed = reencoded(args); parsed != nil {
		return parsed, parsed
	}
	if !bytes.Contains(args, []byte("NaN")) && !bytes.Contains(args, []byte("Infinity")) {
		return nil, nil
	}
	return nil, reencoded(pythonic(args))
}

// reencoded decodes and encodes.
func reencoded(b []byte) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if d.Decode(&v) != nil || len(bytes.TrimSpace(b[d.InputOffset():])) > 0 {
		return nil
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return out
}

// pythonic puts numbers that are no integers in the place of NaN and Infinity.
func pythonic(b []byte) []byte {
	var out []byte
	quoted := false
	for i := 0; i < len(b); i++ {
		switch rest := b[i:]; {
		case quoted && b[i] == '\\' && i+1 < len(b):
			out = append(out, b[i])
			i++
		case b[i] == '"':
			quoted = !quoted
		case !quoted && bytes.HasPrefix(rest, []byte("NaN")):
			out = append(out, " 0.5 "...)
			i += len("NaN") - 1
			continue
		case !quoted && bytes.HasPrefix(rest, []byte("Infinity")):
			if i == 0 || b[i-1] != '-' {
				out = append(out, ' ')
			}
			out = append(out, "1000000000000000.5 "...)
			i += len("Infinity") - 1
			continue
		}
		out = append(out, b[i])
	}
	return out
}

// cyrillic reports whether a text has letters of U+0400 to U+04FF, of which the
// first byte tells.
func cyrillic(p []byte) bool {
	for _, b := range p {
		if 0xd0 <= b && b <= 0xd3 {
			return true
		}
	}
	return false
}
