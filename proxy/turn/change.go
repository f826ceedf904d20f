package turn

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// ConfigChange says that turns come from another configuration than those
// before them. Its line in a journal has the type config_change.
type ConfigChange struct {
	V       int
	Time    time.Time // when the first turn of the new configuration began
	From    string    // the fingerprints; "" when nothing was known
	To      string
	Turn    string   // id of that turn
	Changed []Change // sorted by tag
	Arm     Arm      // whose server it is; "" is the live one's
}

// Change is one tag that has another value. Empty means that it is not known.
type Change struct{ Tag, From, To string }

// Sort sorts the changes and returns c.
func (c *ConfigChange) Sort() *ConfigChange {
	slices.SortFunc(c.Changed, func(a, b Change) int { return strings.Compare(a.Tag, b.Tag) })
	return c
}

// Names returns the tags that changed.
func (c *ConfigChange) Names() []string {
	names := make([]string, len(c.Changed))
	for i := range c.Changed {
		names[i] = c.Changed[i].Tag
	}
	return names
}

// AppendJSON appends the journal line, without its newline, to b:
//
//	{"v":1,"type":"config_change","time":"…","from":"1a2b3c4d","to":"5e6f7a8b","turn":"…",
//	 "changed":{"index_dtype":{"from":"bf16","to":"fp8"}}}
//
// Of another arm than the live one there is also "arm", last.
func (c *ConfigChange) AppendJSON(b []byte) []byte {
	o := object{b: append(b, '{')}
	o.int("v", int64(c.V))
	o.str("type", "config_change")
	o.time("time", c.Time)
	o.str("from", c.From)
	o.str("to", c.To)
	o.str("turn", c.Turn)
	o.open("changed", '{')
	for _, d := range c.Changed {
		o.b = append(appendString(comma(o.b), d.Tag), ":{"...)
		o.str("from", d.From)
		o.str("to", d.To)
		o.close('}')
	}
	o.close('}')
	o.optional("arm", string(c.Arm))
	return append(o.b, '}')
}

// UnmarshalJSON reads a line as AppendJSON writes it.
func (c *ConfigChange) UnmarshalJSON(b []byte) error {
	var l struct {
		V              int
		Time           time.Time
		From, To, Turn string
		Arm            Arm
		Changed        map[string]struct{ From, To string }
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	*c = ConfigChange{V: l.V, Time: l.Time, From: l.From, To: l.To, Turn: l.Turn, Arm: l.Arm}
	for tag, d := range l.Changed {
		c.Changed = append(c.Changed, Change{tag, d.From, d.To})
	}
	c.Sort()
	return nil
}
