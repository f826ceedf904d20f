package report

import "strings"

// The bounds of tags that are left out: how many, and from how many values on.
const (
	maxLoud    = 64
	loudLevels = 256
)

// config returns the number of the configuration with the key. Where there are too
// many, the tags that make them so are left out of all: a tag with another value
// in each turn tells nothing and must not cost the others theirs.
func (d *Data) config(key string) int32 {
	i := d.configs.of(key)
	for i < 0 && d.hush() {
		i = d.configs.of(key)
	}
	return i
}

// hush leaves out the tag with the most values, if that is more than one that is
// set has. It reports whether it did.
func (d *Data) hush() bool {
	name, n := d.configs.loudest()
	if n < loudLevels || len(d.configs.loud) >= maxLoud {
		return false
	}
	d.Source.Loud = append(d.Source.Loud, name)
	moved := d.configs.without(name)
	for _, chunk := range d.store {
		for i := range chunk {
			if r := &chunk[i]; r.config >= 0 {
				r.config = moved[r.config]
			}
		}
	}
	return true
}

// loudest returns the tag with the most values, and how many those are.
func (c *configs) loudest() (name string, most int) {
	values := map[tag]bool{}
	count := map[string]int{}
	for _, one := range c.all {
		for _, t := range one.tags {
			if values[t] {
				continue
			}
			values[t] = true
			count[t.name]++
			if n := count[t.name]; n > most || n == most && t.name < name {
				name, most = t.name, n
			}
		}
	}
	return name, most
}

// without leaves a tag out of all configurations and returns their new numbers.
func (c *configs) without(name string) []int32 {
	old := c.all
	loud := map[string]bool{name: true}
	for n := range c.loud {
		loud[n] = true
	}
	*c = configs{loud: loud}
	moved := make([]int32, len(old))
	for i, one := range old {
		moved[i] = c.of(one.key())
	}
	return moved
}

// quiet returns the key less the tags that are left out.
func (c *configs) quiet(key string) string {
	parts := strings.Split(key, keySep)
	kept := parts[:1]
	for _, p := range parts[1:] {
		if name, _, _ := strings.Cut(p, "="); !c.loud[name] {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, keySep)
}

// key spells the configuration as the function key does.
func (c *config) key() string {
	parts := []string{c.fingerprint}
	for _, t := range c.tags {
		parts = append(parts, t.name+"="+t.value)
	}
	return strings.Join(parts, keySep)
}
