package report

import (
	"fmt"
	"strings"
	"time"
)

// Selector chooses turns: all conditions must hold.
type Selector struct {
	Text  string // as it was written
	terms []term
	since time.Time
	until time.Time
}

type term struct{ name, value string }

// ParseSelector reads conditions joined by commas: arm=, model=, fingerprint=,
// replica= or TAG=VALUE, and since= and until= as ParseTime reads them.
func ParseSelector(s string, now time.Time) (Selector, error) {
	sel := Selector{Text: s}
	for part := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || name == "" {
			return sel, fmt.Errorf("select turns by %q: want NAME=VALUE, several joined by commas", part)
		}
		if err := sel.add(name, value, now); err != nil {
			return sel, err
		}
	}
	return sel, nil
}

func (s *Selector) add(name, value string, now time.Time) (err error) {
	switch name {
	case "since":
		s.since, err = ParseTime(value, now)
	case "until":
		s.until, err = ParseTime(value, now)
	default:
		s.terms = append(s.terms, term{name, value})
	}
	return err
}

// empty reports whether nothing was written.
func (s *Selector) empty() bool { return s.Text == "" }

func (s *Selector) match(d *Data, r *row) bool {
	if !within(r.at, s.since, s.until) {
		return false
	}
	for _, t := range s.terms {
		if d.property(r, t.name) != t.value {
			return false
		}
	}
	return true
}

// property returns what a turn is under a name.
func (d *Data) property(r *row, name string) string {
	switch name {
	case "arm":
		return d.arms.all[r.arm]
	case "model":
		return d.models.all[r.model]
	case "replica":
		return d.replicas.all[r.replica]
	case "fingerprint":
		return d.configs.fingerprint(r.config)
	case "batch":
		return batchRange(r.batch)
	}
	return d.configs.value(r.config, name)
}

// ParseTime reads a moment: a date, RFC 3339, or how long before now, as 36h
// or 7d.
func ParseTime(s string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	d, err := ParseSpan(s)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time %q: want 2026-01-31, 2026-01-31T15:04:05Z, or how long ago, as 36h or 7d", s)
	}
	return now.Add(-d), nil
}

// ParseSpan reads a duration, of which days may be a part: 7d, 1d12h.
func ParseSpan(s string) (time.Duration, error) {
	days := 0
	rest := s
	if before, after, ok := strings.Cut(s, "d"); ok {
		if _, err := fmt.Sscanf(before, "%d", &days); err != nil || fmt.Sprint(days) != before || days > 36500 {
			return 0, fmt.Errorf("read the time span %q: want 36h or 7d", s)
		}
		if rest = after; rest == "" {
			rest = "0s"
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("read the time span %q: want 36h or 7d", s)
	}
	return d + time.Duration(days)*24*time.Hour, nil
}
