package sglang

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
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

// set collects the tags of one turn. Of several that are put under one name
// the first stays, so sources are asked in the order of their precedence.
type set struct {
	tags   map[string]turn.Tag
	config map[string]string // the part that the fingerprint is made of
}

// newSet has room for so many configuration tags without growing.
func newSet(room int) *set {
	return &set{tags: make(map[string]turn.Tag, room+12), config: make(map[string]string, room)}
}

// put puts a tag in and reports whether it was the first of its name.
func (s *set) put(name, value, source string, age time.Duration) bool {
	if _, ok := s.tags[name]; ok || name == "" || len(s.tags) >= maxTags {
		return false
	}
	s.tags[name] = turn.Tag{Value: value, Source: source, AgeMS: age.Abs().Milliseconds()}
	return true
}

func (s *set) number(name string, n int, source string, age time.Duration) {
	s.put(name, strconv.Itoa(n), source, age)
}

// configure puts in a tag that tells one configuration from another.
func (s *set) configure(name, value, source string, age time.Duration) {
	if s.put(name, value, source, age) {
		s.config[name] = value
	}
}

// bucket puts in the padded size of a batch. Where graphs are off there is
// none, whatever the source says.
func (s *set) bucket(name string, n int, source string, age time.Duration) {
	if s.config["cuda_graph"] == "off" {
		n = 0
	}
	s.number(name, n, source, age)
}

// fingerprint is a short stable hash of a configuration: the first 8 hex
// digits of SHA-256 over its tags as name=value lines, sorted by name. A tag
// that is not known is not there, which makes it differ from every value. It
// is "" when nothing is known.
func fingerprint(config map[string]string) string {
	if len(config) == 0 {
		return ""
	}
	names := make([]string, 0, len(config))
	for n := range config {
		names = append(names, n)
	}
	slices.Sort(names)
	var b []byte
	for _, n := range names {
		b = append(append(append(append(b, n...), '='), config[n]...), '\n')
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:4])
}
