package report

import (
	"slices"
	"strings"

	"turnwatch/proxy/turn"
)

// configs numbers the configurations: sets of tags that are no measure of one
// turn, with the fingerprint.
type configs struct {
	number map[string]int32
	all    []config
	bytes  int             // of their tags
	loud   map[string]bool // tags that are left out
}

// config is one of them.
type config struct {
	fingerprint string
	tags        []tag // by name
}

type tag struct{ name, value string }

// The bounds of what a journal may make us keep; beyond them the tags of a
// turn are left out and counted.
const (
	maxConfigs     = 20_000
	maxConfigBytes = 64 << 20
)

// of returns the number of the configuration with the key, -1 if there are too
// many.
func (c *configs) of(key string) int32 {
	if len(c.loud) > 0 {
		key = c.quiet(key)
	}
	if i, ok := c.number[key]; ok {
		return i
	}
	if len(c.all) >= maxConfigs || c.bytes+len(key) > maxConfigBytes {
		return -1
	}
	if c.number == nil {
		c.number = map[string]int32{}
	}
	i := int32(len(c.all))
	c.number[key] = i
	c.bytes += len(key)
	c.all = append(c.all, unkey(key))
	return i
}

// value returns the value of a tag in configuration i, "" if it has none.
func (c *configs) value(i int32, name string) string {
	if i < 0 {
		return ""
	}
	tags := c.all[i].tags
	at, ok := find(tags, name)
	if !ok {
		return ""
	}
	return tags[at].value
}

// find returns the place of a tag.
func find(tags []tag, name string) (int, bool) {
	return slices.BinarySearchFunc(tags, name, func(t tag, name string) int { return strings.Compare(t.name, name) })
}

// fingerprint returns that of configuration i.
func (c *configs) fingerprint(i int32) string {
	if i < 0 {
		return ""
	}
	return c.all[i].fingerprint
}

const keySep = "\x00"

// key spells the configuration of a turn.
func key(t *turn.Turn) string {
	list := make([]string, 0, len(t.Tags))
	for name, v := range t.Tags {
		if !perTurn(name) {
			list = append(list, name+"="+v.Value)
		}
	}
	slices.Sort(list)
	return t.Fingerprint + keySep + strings.Join(list, keySep)
}

func unkey(key string) config {
	parts := strings.Split(key, keySep)
	c := config{fingerprint: parts[0]}
	for _, p := range parts[1:] {
		if name, value, ok := strings.Cut(p, "="); ok {
			c.tags = append(c.tags, tag{name, value})
		}
	}
	return c
}

// perTurn reports whether a tag measures or names one turn.
func perTurn(name string) bool {
	switch name {
	case "rid", "retractions", "peers", "batch", "batch_steps", "graph_bucket", "queue":
		return true
	}
	return strings.HasPrefix(name, "own_batch") || strings.Contains(name, "_at_")
}
