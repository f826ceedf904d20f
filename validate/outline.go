package validate

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// outlineText is how many bytes of an answer's text an Outline keeps.
const outlineText = 4 << 10

// Outline is what an answer said, as far as two answers to one request are held
// against each other: the calls of all choices, and the beginning of what the first
// choice said.
type Outline struct {
	names, args []string // of the calls; arguments as canonical JSON, or as they came
	text        []byte   // at most outlineText bytes
	starts      []int    // in it, of the arguments of the first choice's calls
	length      int
	sum         uint64 // of the whole text
}

// Likeness says in what two answers are alike.
type Likeness struct {
	Names bool // the same tools are called, in the same order
	Args  bool // … with the same arguments, however they are spelt
	// FirstDiff is the first character, from 0, in which the texts differ, calls
	// included; -1 where they do not. Beyond what is kept of a text it is the end of
	// that.
	FirstDiff int
}

// Like compares two answers.
func (o *Outline) Like(p *Outline) Likeness {
	l := Likeness{Names: slices.Equal(o.names, p.names), FirstDiff: -1}
	l.Args = l.Names && slices.Equal(o.args, p.args)
	if o.length != p.length || o.sum != p.sum {
		l.FirstDiff = o.differs(p)
	}
	return l
}

// differs counts the characters up to the first byte that is not the same.
func (o *Outline) differs(p *Outline) int {
	i := 0
	for i < min(len(o.text), len(p.text)) && o.text[i] == p.text[i] {
		i++
	}
	for i > 0 && i < len(o.text) && !utf8.RuneStart(o.text[i]) {
		i--
	}
	return utf8.RuneCount(o.text[:i])
}

// Span returns between which characters, counted as FirstDiff counts, the arguments of a call
// begin and have come to a byte of theirs, or with -1 to their end. It is not known beyond what is
// kept of a text, nor of other choices than the first.
func (o *Outline) Span(choice, call int, at int64) (from, to int, ok bool) {
	if choice != 0 || call < 0 || call >= len(o.starts) {
		return 0, 0, false
	}
	begin, end := o.starts[call], o.length
	if call+1 < len(o.starts) {
		end = o.starts[call+1] - len(o.names[call+1])
	}
	if at >= 0 {
		end = min(end, begin+int(min(at, outlineText)))
	}
	if begin > len(o.text) || end > len(o.text) {
		return 0, 0, false
	}
	return utf8.RuneCount(o.text[:begin]), utf8.RuneCount(o.text[:end]), true
}

// sketch is an Outline that is being made.
type sketch struct {
	text   []byte
	length int
	sum    uint64
}

func (s *sketch) add(p []byte) {
	const offset, prime = 14695981039346656037, 1099511628211
	if s.length == 0 {
		s.sum = offset
	}
	for _, b := range p {
		s.sum = (s.sum ^ uint64(b)) * prime
	}
	s.length += len(p)
	s.text = append(s.text, p[:min(len(p), outlineText-len(s.text))]...)
}

// outlines takes in a piece of text for the outline, if one is wanted.
func (c *Checker) outlines(ch *choice, p []byte) {
	if c.req.Outline && ch == c.choices[0] {
		c.sketch.add(p)
	}
}

// Outline returns, after Finish, what the answer said; nil without Request.Outline,
// and where the answer was not read to its end.
func (c *Checker) Outline() *Outline {
	if !c.req.Outline || c.reason != "" {
		return nil
	}
	s, o := c.sketch, new(Outline)
	for i, ch := range c.choices {
		for _, k := range ch.calls {
			o.names, o.args = append(o.names, k.name), append(o.args, digest(canonical(k.args)))
			if i == 0 {
				s.add([]byte(k.name))
				o.starts = append(o.starts, s.length)
				s.add(k.args)
			}
		}
	}
	o.text, o.length, o.sum = s.text, s.length, s.sum
	return o
}

// digest keeps a short text as it is and a long one as its hash.
func digest(p []byte) string {
	if len(p) <= 64 {
		return string(p)
	}
	h := fnv.New128a()
	h.Write(p)
	return string(h.Sum(nil))
}

// canonical returns JSON in the one form that equal values have: keys sorted, no
// space, numbers that are whole without a point. What is no JSON stays as it is.
func canonical(p []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(p))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return p
	}
	out, err := json.Marshal(plainNumbers(v))
	if err != nil {
		return p
	}
	return out
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case json.Number:
		return plainNumber(v)
	}
	return v
}

// plainNumber leaves digits as they are and spells everything else as a float is.
func plainNumber(n json.Number) json.Number {
	if _, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return n
	}
	const exact = 1 << 53
	f, err := n.Float64()
	switch {
	case err != nil:
		return n
	case f == math.Trunc(f) && math.Abs(f) < exact:
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}
