package sglang

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// DefaultPrefix is what the fields of our plugin begin with.
const DefaultPrefix = "x-sglang-"

// Config says where to look. The zero value of every field but Upstream is its
// default.
type Config struct {
	// Upstream is the server: http://host:port, https://host:port or
	// unix:/path/of.sock.
	Upstream string
	// TLS is used for https; nil means the system's roots.
	TLS *tls.Config
	// KeyFile holds the key that authenticates our own requests, and no
	// others. It is re-read when it changes. Default: none is sent.
	KeyFile string
	// KeyName is the setting that names it, for messages. Default -upstream-key-file.
	KeyName string

	// Prefixes begin the names of the fields that are tags. Default x-sglang-.
	Prefixes []string
	// Headers are other fields that are tags, by name, and the tags' names.
	Headers map[string]string
	// Labels are what the operator declares.
	Labels map[string]string
	// LabelFile holds more labels, key=value a line. It is re-read when it
	// changes, and wins over Labels.
	LabelFile string

	// Facts is the path to ask for the facts of a turn when its head named
	// none. Default: only those are asked for whose head names a path.
	Facts string
	// FactsTimeout bounds what asking may delay the record of a turn.
	// Default 2 s.
	FactsTimeout time.Duration
	// FactsWorkers is how many are asked for at a time. Default 8.
	FactsWorkers int

	// Tokens makes turns carry the ids of their tokens, where facts tell them.
	Tokens bool

	// NoPoll keeps us from asking the server anything but facts.
	NoPoll bool
	// PollMetrics polls /metrics too.
	PollMetrics bool
	// PollEvery is the time between polls of the load. Default 1 s.
	PollEvery time.Duration
	// PollTimeout bounds one poll. Default 2 s.
	PollTimeout time.Duration
	// StatusLog is SGLang's status log: a file, or a folder of them.
	StatusLog string

	// Logger receives the few lines there are to say. Default: discarded.
	Logger *slog.Logger
}

func (c *Config) defaults() {
	if len(c.Prefixes) == 0 {
		c.Prefixes = []string{DefaultPrefix}
	}
	c.KeyName = cmp.Or(c.KeyName, "-upstream-key-file")
	c.FactsTimeout = cmp.Or(c.FactsTimeout, 2*time.Second)
	c.FactsWorkers = cmp.Or(c.FactsWorkers, 8)
	c.PollEvery = cmp.Or(c.PollEvery, time.Second)
	c.PollTimeout = cmp.Or(c.PollTimeout, 2*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
}

// check finds what would be silently lost.
func (c *Config) check() error {
	var errs []error
	for _, p := range c.Prefixes {
		if !fieldName(p) {
			errs = append(errs, fmt.Errorf("-tag-prefix %q does not begin a header's name", p))
		}
	}
	for header, name := range c.Headers {
		if !fieldName(header) || !usable(name) {
			errs = append(errs, fmt.Errorf("-tag %s=%s: a header and the name of a tag are needed: lower-case letters, digits and _, none that is measured, none of a secret", header, name))
		}
	}
	if len(c.Labels) > maxLabels {
		errs = append(errs, fmt.Errorf("-label is given %d times, more than %d", len(c.Labels), maxLabels))
	}
	for name := range c.Labels {
		if !usable(name) {
			errs = append(errs, fmt.Errorf("-label %s: a name has lower-case letters, digits and _; none is that of something measured or of a secret", name))
		}
	}
	if c.Facts != "" && !askable(c.Facts) {
		errs = append(errs, fmt.Errorf("-turn-facts %q is not a path on the server such as /turnwatch/turns", c.Facts))
	}
	return errors.Join(errs...)
}

// usable reports whether an operator may name a tag so.
func usable(name string) bool {
	return name != "" && name == tagName(name) && !measured(name) && !secret(name)
}

// fieldName reports whether s is a name of a header, or begins one.
func fieldName(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}
