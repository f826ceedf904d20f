package sglang

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"turnwatch/proxy/turn"
)

// The sources of a tag.
const (
	fromHeader = "header"
	fromFacts  = "facts"
	fromLog    = "status_log"
	fromPoll   = "poll"
	fromLabel  = "label"
	fromOwn    = "own"
)

// set collects the tags of one turn, and then of another. Of several that are put
// under one name the first stays, so sources are asked in the order of their
// precedence.
type set struct {
	*setup                 // its tags are asked first
	tags   []turn.NamedTag // all others, in the order of their names
}

// begin empties the set for a turn that was made under a setup.
func (s *set) begin(u *setup) {
	s.setup = u
	clear(s.tags)
	s.tags = s.tags[:0]
}

// put puts a tag in and reports whether it was the first of its name.
func (s *set) put(name, value, source string, age time.Duration) bool {
	i, had := turn.FindTag(s.tags, name)
	if had || name == "" || s.config.Len()+len(s.tags) >= maxTags || s.config.Has(name) {
		return false
	}
	s.tags = slices.Insert(s.tags, i, turn.NamedTag{Name: name, Tag: turn.Tag{Value: value, Source: source, AgeMS: turn.Age(age)}})
	return true
}

func (s *set) number(name string, n int, source string, age time.Duration) {
	s.put(name, strconv.Itoa(n), source, age)
}

// bucket puts in the padded size of a batch. Where graphs are off there is
// none, whatever the source says.
func (s *set) bucket(name string, n int, source string, age time.Duration) {
	if s.noGraphs {
		n = 0
	}
	s.number(name, n, source, age)
}

// fingerprint is a short stable hash of a configuration: the first 8 hex
// digits of SHA-256 over its tags as name=value lines, sorted by name. A tag
// that is not known is not there, which makes it differ from every value. It
// is "" when nothing is known.
func fingerprint(config []field) string {
	if len(config) == 0 {
		return ""
	}
	var b []byte
	for _, f := range byName(config) {
		b = append(append(append(append(b, f.name...), '='), f.value...), '\n')
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:4])
}

// byName returns fields in the order of their names.
func byName(fields []field) []field {
	return slices.SortedFunc(slices.Values(fields), func(a, b field) int { return strings.Compare(a.name, b.name) })
}

// sameConfig compares configurations. Turns of one configuration have mostly
// put it together in the same order.
func sameConfig(a, b []field) bool {
	return len(a) == len(b) && (slices.Equal(a, b) || slices.Equal(byName(a), byName(b)))
}

// listed returns settings in the order of their names.
func listed(settings map[string]string) []field {
	all := make([]field, 0, len(settings))
	for name, v := range settings {
		all = append(all, field{name, v})
	}
	return byName(all)
}

// labelled returns labels as tags have them, in the order of their names.
func labelled(labels map[string]string) []field {
	all := listed(labels)
	for i := range all {
		all[i].value = clean(all[i].value)
	}
	return slices.DeleteFunc(all, func(f field) bool { return f.value == "" })
}
