package sglang

import (
	"crypto/sha256"
	"encoding/hex"
	"math/bits"
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

// slot is the place, in the order of names, of a tag that is found out for each
// turn: such a tag is not looked for among others.
type slot uint8

const (
	batch slot = iota
	batchAtHead
	batchAtOnset
	batchSteps
	bucket
	bucketAtHead
	bucketAtOnset
	ownAtOnset
	ownMax
	ownMean
	ownMin
	queueAtHead
	retractions
)

// slotNames are the names of the slots, in their order.
var slotNames = [...]string{"batch", "batch_at_head", "batch_at_onset", "batch_steps", "graph_bucket", "graph_bucket_at_head", "graph_bucket_at_onset",
	"own_batch_at_onset", "own_batch_max", "own_batch_mean", "own_batch_min", "queue_at_head", "retractions"}

// slots is a set of them.
type slots uint16

func (s slots) has(at slot) bool { return s>>at&1 != 0 }

// set collects the tags of one turn, and then of another. Of several that are put
// under one name the first stays, so sources are asked in the order of their
// precedence.
type set struct {
	*setup                 // its tags are asked first
	tags   []turn.NamedTag // all others, in the order of their names
	own    slots           // that have a value, which tags gets last
	values [len(slotNames)]turn.Tag
}

// begin empties the set for a turn that was made under a setup.
func (s *set) begin(u *setup) {
	s.setup, s.own = u, 0
	clear(s.tags)
	s.tags = s.tags[:0]
}

// full reports whether there are as many tags as a turn may have.
func (s *set) full() bool {
	return s.config.Len()+len(s.tags)+bits.OnesCount16(uint16(s.own)) >= maxTags
}

// name puts a tag in under any name and reports whether it was the first of it.
func (s *set) name(name, value, source string, age time.Duration) bool {
	i, had := turn.FindTag(s.tags, name)
	if had || name == "" || s.full() || s.config.Has(name) {
		return false
	}
	s.tags = slices.Insert(s.tags, i, turn.NamedTag{Name: name, Tag: turn.Tag{Value: value, Source: source, AgeMS: turn.Age(age)}})
	return true
}

// open reports whether nothing was put into a slot yet.
func (s *set) open(at slot) bool { return !(s.own | s.taken).has(at) && !s.full() }

// put puts a tag in.
func (s *set) put(at slot, value, source string, age time.Duration) {
	if s.open(at) {
		s.own |= 1 << at
		s.values[at] = turn.Tag{Value: value, Source: source, AgeMS: turn.Age(age)}
	}
}

func (s *set) number(at slot, n int, source string, age time.Duration) {
	if s.open(at) {
		s.put(at, strconv.Itoa(n), source, age)
	}
}

// bucket puts in the padded size of a batch. Where graphs are off there is
// none, whatever the source says.
func (s *set) bucket(at slot, n int, source string, age time.Duration) {
	if s.noGraphs {
		n = 0
	}
	s.number(at, n, source, age)
}

// all returns all that was put in, in the order of the names.
func (s *set) all() []turn.NamedTag {
	for at, name := range slotNames[:] {
		i, had := len(s.tags), !s.own.has(slot(at))
		if !had && i > 0 && s.tags[i-1].Name >= name {
			i, had = turn.FindTag(s.tags, name)
		}
		if !had {
			s.tags = slices.Insert(s.tags, i, turn.NamedTag{Name: name, Tag: s.values[at]})
		}
	}
	s.own = 0
	return s.tags
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
