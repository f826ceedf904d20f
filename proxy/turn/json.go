package turn

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"turnwatch/validate"
)

// MarshalJSON returns the journal line without its newline. It is a method of
// the value, so that a turn within another value has the same form.
func (t Turn) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// AppendJSON appends the journal line, without its newline, to b. It cannot
// fail: text that is not UTF-8 is mended, a time that is no number is 0.
//
// The line is spelled out rather than left to reflection because order and
// presence of the fields are part of the format, and because it is made for
// every turn.
func (t *Turn) AppendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"v":`...), int64(t.V), 10)
	b = appendString(append(b, `,"id":`...), t.ID)
	b = appendString(append(b, `,"request_id":`...), t.RequestID)
	b = appendTime(append(b, `,"time":`...), t.Time)
	b = appendString(append(b, `,"model":`...), t.Model)
	b = appendString(append(b, `,"path":`...), t.Path)
	b = strconv.AppendBool(append(b, `,"stream":`...), t.Stream)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(t.Status), 10)
	b = appendString(append(b, `,"ending":`...), string(t.Ending))
	b = strconv.AppendInt(append(b, `,"bytes_in":`...), t.BytesIn, 10)
	b = strconv.AppendInt(append(b, `,"bytes_out":`...), t.BytesOut, 10)
	b = appendMS(append(b, `,"ttfb_ms":`...), t.TTFBMS)
	o := object{b: appendMS(append(b, `,"duration_ms":`...), t.DurationMS)}
	o.verdict(&t.Verdict)
	o.tags("tags", t)
	b = appendString(append(o.b, `,"fingerprint":`...), t.Fingerprint)
	b = appendString(append(b, `,"arm":`...), string(t.Arm))
	b = appendString(append(b, `,"session":`...), t.Session)
	o.b = strconv.AppendInt(append(b, `,"turn":`...), int64(t.Number), 10)
	o.optional("answer", string(t.Answer))
	o.optional("prefix", t.Prefix)
	return append(o.b, '}')
}

// object appends the fields of a JSON object whose brace is open.
type object struct{ b []byte }

// verdict appends what was found, behind a field.
func (o *object) verdict(v *validate.Verdict) {
	if v.Usage != nil {
		b := strconv.AppendInt(append(o.b, `,"usage":{"prompt_tokens":`...), v.Usage.PromptTokens, 10)
		o.b = append(strconv.AppendInt(append(b, `,"completion_tokens":`...), v.Usage.CompletionTokens, 10), '}')
	}
	strs(o, "finish_reasons", v.FinishReasons)
	b := strconv.AppendInt(append(o.b, `,"calls":`...), int64(v.Calls), 10)
	b = appendString(append(b, `,"verdict":`...), string(v.Outcome))
	b = appendString(append(b, `,"reason":`...), string(v.Reason))
	o.b = strconv.AppendBool(append(b, `,"suspect":`...), v.Suspect)
	o.flag("constrained", v.Constrained)
	strs(o, "checks", v.Checks)
	o.b = append(o.b, `,"findings":[`...)
	for i := range v.Findings {
		o.finding(&v.Findings[i])
	}
	o.b = append(o.b, `],"signals":[`...)
	for i := range v.Signals {
		o.signal(&v.Signals[i])
	}
	o.close(']')
	strs(o, "lints", v.Lints)
	o.vendor(v.Vendor)
}

func (o *object) vendor(v *validate.Vendor) {
	if v == nil {
		return
	}
	o.open("vendor", '{')
	o.optional("k2vv", v.K2VV)
	o.optional("openrouter", v.OpenRouter)
	o.flag("only_reasoning", v.OnlyReasoning)
	o.flag("cyrillic", v.Cyrillic)
	o.close('}')
}

func (o *object) finding(f *validate.Finding) {
	o.item('{')
	o.str("kind", string(f.Kind))
	o.str("severity", string(f.Severity))
	o.str("cause", string(f.Cause))
	o.int("choice", int64(f.Choice))
	if f.Call != nil {
		o.int("call", int64(*f.Call))
	}
	o.optional("tool", f.Tool)
	o.optional("path", f.Path)
	o.int("offset", f.Offset)
	if f.ArgOffset != nil {
		o.int("arg_offset", *f.ArgOffset)
	}
	o.ms("at_ms", f.AtMS)
	o.flag("constrained", f.Constrained)
	o.close('}')
}

func (o *object) signal(s *validate.Signal) {
	o.item('{')
	o.str("kind", string(s.Kind))
	o.int("choice", int64(s.Choice))
	if s.Call != nil {
		o.int("call", int64(*s.Call))
	}
	o.optional("path", s.Path)
	o.int("offset", s.Offset)
	o.ms("at_ms", s.AtMS)
	o.optional("edit", s.Edit)
	o.close('}')
}

// tags appends those of a turn and of its configuration, sorted, so that equal
// turns make equal lines.
func (o *object) tags(name string, of *Turn) {
	own := of.Own
	if len(of.Tags) > 0 {
		own = of.unshared()
	}
	o.open(name, '{')
	shared := 0
	for i := range own {
		shared = o.shared(of, shared, func(c string) bool { return c < own[i].Name })
		o.tag(&own[i])
	}
	o.shared(of, shared, func(string) bool { return true })
	o.close('}')
}

// shared appends the tags of the turn's configuration from one on while their
// names are wanted, and returns the next.
func (o *object) shared(of *Turn, from int, wanted func(string) bool) int {
	for ; from < of.Config.Len() && wanted(of.Config.tags[from].Name); from++ {
		b := append(comma(o.b), of.Config.text[from]...)
		o.b = append(strconv.AppendInt(b, of.Config.tags[from].ageMS(of.Began), 10), '}')
	}
	return from
}

// unshared returns Own and Tags in the order of their names.
func (t *Turn) unshared() []NamedTag {
	all := slices.Clone(t.Own)
	for name, tag := range t.Tags {
		all = append(all, NamedTag{name, tag})
	}
	slices.SortFunc(all, func(a, b NamedTag) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// tag appends a tag, whose name may be any.
func (o *object) tag(t *NamedTag) {
	b := appendTag(o.b, t.Name, t.Value, t.Source)
	o.b = append(strconv.AppendInt(b, t.AgeMS, 10), '}')
}

// appendTag appends a tag up to its age.
func appendTag(b []byte, name, value, source string) []byte {
	b = appendString(append(appendString(comma(b), name), `:{"v":`...), value)
	return append(appendString(append(b, `,"src":`...), source), `,"age_ms":`...)
}

// comma appends one unless the object or list is empty so far.
func comma(b []byte) []byte {
	if c := b[len(b)-1]; c != '{' && c != '[' {
		b = append(b, ',')
	}
	return b
}

// key appends the name of a field, one of ours, in which nothing is escaped.
func key(b []byte, name string) []byte {
	return append(append(append(comma(b), '"'), name...), `":`...)
}

func (o *object) name(name string) { o.b = key(o.b, name) }

func (o *object) open(name string, brace byte) { o.b = append(key(o.b, name), brace) }

func (o *object) item(brace byte) { o.b = append(comma(o.b), brace) }

func (o *object) close(brace byte) { o.b = append(o.b, brace) }

func (o *object) str(name, s string) { o.b = appendString(key(o.b, name), s) }

func (o *object) optional(name, s string) {
	if s != "" {
		o.str(name, s)
	}
}

// flag appends what is there only if it is true.
func (o *object) flag(name string, v bool) {
	if v {
		o.bool(name, v)
	}
}

func (o *object) bool(name string, v bool) { o.b = strconv.AppendBool(key(o.b, name), v) }

func (o *object) int(name string, n int64) { o.b = strconv.AppendInt(key(o.b, name), n, 10) }

func (o *object) ms(name string, f float64) { o.b = appendMS(key(o.b, name), f) }

// appendMS appends milliseconds to the third decimal. A number of up to 15 digits is
// the shortest that its float64 has, so that these are written as integers are.
func appendMS(b []byte, f float64) []byte {
	us := math.Round(f * 1000)
	if us >= 1 && us < 1e15 {
		n := uint64(us)
		return appendThousandths(strconv.AppendUint(b, n/1000, 10), n%1000)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		us = 0
	}
	return strconv.AppendFloat(b, us/1000, 'f', -1, 64)
}

// appendThousandths appends a point and n thousandths, as far as they are not 0.
func appendThousandths(b []byte, n uint64) []byte {
	digits := [...]byte{'.', '0' + byte(n/100), '0' + byte(n/10%10), '0' + byte(n%10)}
	last := len(digits)
	for last > 1 && digits[last-1] == '0' {
		last--
	}
	if last == 1 {
		return b
	}
	return append(b, digits[:last]...)
}

// float appends a share.
func (o *object) float(name string, f float64) {
	o.name(name)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		f = 0
	}
	o.b = strconv.AppendFloat(o.b, f, 'f', -1, 64)
}

func (o *object) time(name string, t time.Time) { o.b = appendTime(key(o.b, name), t) }

func appendTime(b []byte, t time.Time) []byte {
	return append(t.UTC().AppendFormat(append(b, '"'), time.RFC3339Nano), '"')
}

func strs[S ~string](o *object, name string, list []S) {
	o.open(name, '[')
	for _, s := range list {
		o.b = appendString(comma(o.b), string(s))
	}
	o.close(']')
}

// appendString appends s quoted. Bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c-' ' < 0x7f-' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = appendEscape(append(b, s[done:i]...), c)
			i++
			done = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(append(b, s[done:i]...), `\ufffd`...)
			done = i + 1
		}
		i += n
	}
	return append(append(b, s[done:]...), '"')
}

func appendEscape(b []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	if c == '"' || c == '\\' {
		return append(b, '\\', c)
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
