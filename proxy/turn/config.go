package turn

import (
	"slices"
	"strings"
	"time"
)

// Config are the tags that turns of one configuration share. Only their ages
// differ from turn to turn. It does not change; a nil Config has none.
type Config struct {
	tags []ConfigTag // by name
	text []string    // of each in the journal, up to its age
}

// ConfigTag is a tag of a Config.
type ConfigTag struct {
	Name, Value, Source string
	At                  time.Time // when that was observed; zero: with each turn
}

// NewConfig takes tags over, of which no two have one name.
func NewConfig(tags []ConfigTag) *Config {
	slices.SortFunc(tags, func(a, b ConfigTag) int { return strings.Compare(a.Name, b.Name) })
	c := &Config{tags: tags, text: make([]string, len(tags))}
	for i, t := range tags {
		c.text[i] = string(appendTag([]byte{'{'}, t.Name, t.Value, t.Source)[1:])
	}
	return c
}

// Len is how many tags it has.
func (c *Config) Len() int {
	if c == nil {
		return 0
	}
	return len(c.tags)
}

// find returns the place of a tag, or where it would be.
func (c *Config) find(name string) (at int, ok bool) {
	if c == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(c.tags, name, func(t ConfigTag, name string) int { return strings.Compare(t.Name, name) })
}

// Has reports whether it has a tag of that name.
func (c *Config) Has(name string) bool {
	_, ok := c.find(name)
	return ok
}

// ageMS is the age of what was observed, to a turn whose answer began so.
func (t *ConfigTag) ageMS(began time.Time) int64 {
	if t.At.IsZero() {
		return 0
	}
	return Age(began.Sub(t.At))
}

// Age is how far two moments are apart, as tags have it.
func Age(d time.Duration) int64 { return d.Abs().Milliseconds() }

// Tag returns what is known under a name, of the turn itself or of its configuration.
func (t *Turn) Tag(name string) (tag Tag, ok bool) {
	if tag, ok = t.OwnTag(name); ok {
		return tag, ok
	}
	i, ok := t.Config.find(name)
	if !ok {
		return Tag{}, false
	}
	c := &t.Config.tags[i]
	return Tag{c.Value, c.Source, c.ageMS(t.Began)}, true
}

// OwnTag is Tag less those of the turn's configuration.
func (t *Turn) OwnTag(name string) (tag Tag, ok bool) {
	if i, ok := FindTag(t.Own, name); ok {
		return t.Own[i].Tag, true
	}
	tag, ok = t.Tags[name]
	return tag, ok
}

// OwnTags goes through the tags of the turn less those of its configuration.
func (t *Turn) OwnTags(yield func(string, Tag) bool) {
	for i := range t.Own {
		if !yield(t.Own[i].Name, t.Own[i].Tag) {
			return
		}
	}
	for name, tag := range t.Tags {
		if !yield(name, tag) {
			return
		}
	}
}

// FindTag returns the place of a tag among some that are in the order of their
// names, or where it would be.
func FindTag(tags []NamedTag, name string) (at int, ok bool) {
	return slices.BinarySearchFunc(tags, name, func(t NamedTag, name string) int { return strings.Compare(t.Name, name) })
}

// From reports whether a tag of the turn or of its configuration is from a source.
func (t *Turn) From(source string) bool {
	if t.Config != nil && slices.ContainsFunc(t.Config.tags, func(c ConfigTag) bool { return c.Source == source }) {
		return true
	}
	for _, tag := range t.OwnTags {
		if tag.Source == source {
			return true
		}
	}
	return false
}

// AllTags returns the tags of the turn and of its configuration in a map of the
// caller's own.
func (t *Turn) AllTags() map[string]Tag {
	all := make(map[string]Tag, len(t.Tags)+len(t.Own)+t.Config.Len())
	for i := range t.Config.Len() {
		c := &t.Config.tags[i]
		all[c.Name] = Tag{c.Value, c.Source, c.ageMS(t.Began)}
	}
	for name, tag := range t.OwnTags {
		all[name] = tag
	}
	return all
}
