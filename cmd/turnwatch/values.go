package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// list is a flag that may be repeated. The first value set replaces the
// default.
type list struct {
	values []string
	set    bool
}

func (l *list) String() string { return strings.Join(l.values, ",") }

func (l *list) Set(s string) error {
	if s == "" {
		return errors.New("it is empty")
	}
	if !l.set {
		l.values, l.set = nil, true
	}
	l.values = append(l.values, s)
	return nil
}

// span is a duration that is not negative.
type span time.Duration

func (d *span) String() string { return shortDuration(time.Duration(*d)) }

func (d *span) Set(s string) error {
	v, err := time.ParseDuration(s)
	if _, number := strconv.ParseFloat(s, 64); err != nil && number == nil {
		return fmt.Errorf("a duration needs a unit: %ss or %sms", s, s)
	}
	if err != nil {
		return errors.New("it is not a duration such as 500ms, 30s or 1h30m")
	}
	if v < 0 {
		return errors.New("a duration cannot be negative; 0 is none")
	}
	*d = span(v)
	return nil
}

// shortDuration writes d without the parts that are zero: 24h, not 24h0m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// size is a number of bytes.
type size int64

// unit is a multiple of bytes that a size may be written in.
type unit struct {
	name  string
	bytes int64
}

// units are tried in order, so that a name stands before its own ending.
func units() []unit {
	return []unit{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
	}
}

func (z *size) String() string {
	n := int64(*z)
	for _, u := range slices.Backward(units()[:4]) {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

func (z *size) Set(s string) error {
	for _, u := range units() {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n <= 0 || n > math.MaxInt64/u.bytes {
			break
		}
		*z = size(n * u.bytes)
		return nil
	}
	return errors.New("it is not a size, a whole number above zero with B, kB, MB, GB, TB, KiB, MiB, GiB, TiB or nothing behind it")
}

// choice is one word of a few.
type choice struct {
	value string
	of    []string
}

func (c *choice) String() string { return c.value }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.of, s) {
		return fmt.Errorf("it must be one of %s%s", strings.Join(c.of, ", "), didYouMean(s, c.of))
	}
	c.value = s
	return nil
}

// didYouMean is a hint at the one of names that s was probably meant to be,
// or nothing.
func didYouMean(s string, names []string) string {
	best, at := "", 1+min(3, len(s)/2)
	for _, name := range names {
		if d := distance(strings.ToLower(s), strings.ToLower(name)); d < at {
			best, at = name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance counts the bytes to insert, delete or replace to make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := above
			if a[i] != b[j] {
				d = 1 + min(above, row[j], row[j+1])
			}
			above, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
