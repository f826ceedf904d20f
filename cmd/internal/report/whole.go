package report

import (
	"slices"
	"strings"
)

// whole makes one unit of all those of a session and model: turns of one go wrong
// together, so that each counted by itself would make evidence of nothing. A tag
// that differs within the session has no level in it. The units of one session
// stand side by side.
func (d *Data) whole(units []unit) []unit {
	all := make([]unit, 0, len(units))
	from := 0 // where the session at hand begins
	for _, u := range units {
		if from < len(all) && all[from].session != u.session {
			from = len(all)
		}
		i := slices.IndexFunc(all[from:], func(o unit) bool { return o.model == u.model })
		if i < 0 {
			all = append(all, u)
			continue
		}
		all[from+i].join(&u, d)
	}
	return all
}

// join takes in another unit of the session.
func (u *unit) join(o *unit, d *Data) {
	if u.config != o.config {
		u.config = d.configs.common(u.config, o.config)
	}
	u.batch, u.bucket = max(u.batch, o.batch), max(u.bucket, o.bucket)
	u.tokens, u.retries = max(u.tokens, o.tokens), max(u.retries, o.retries)
	u.begin = min(u.begin, o.begin)
	u.N, u.K = u.N+o.N, u.K+o.K
}

// common returns the number of a configuration with what two of them agree on. A
// tag that differs is in it, empty; one that only one of them has counts for
// both. It is -1 if one of them is not known.
func (c *configs) common(i, j int32) int32 {
	if i < 0 || j < 0 {
		return -1
	}
	a, b := c.all[i], c.all[j]
	var list []string
	for _, t := range a.tags {
		if at, ok := find(b.tags, t.name); ok && b.tags[at].value != t.value {
			t.value = ""
		}
		list = append(list, t.name+"="+t.value)
	}
	for _, t := range b.tags {
		if _, ok := find(a.tags, t.name); !ok {
			list = append(list, t.name+"="+t.value)
		}
	}
	slices.Sort(list)
	return c.of(a.fingerprint + keySep + strings.Join(list, keySep))
}
