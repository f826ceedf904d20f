package validate

import (
	"bytes"
	"strconv"
	"strings"

	"turnwatch/validate/jsonstream"
	"turnwatch/validate/schema"
)

// judged is what is known of a call when the turn has ended.
type judged struct {
	c      *Checker
	ch     *choice
	k      *call
	tool   string // the declared name, empty if there is none
	schema *schema.Schema
	cut    bool // the turn was cut for a known reason, and this call may have been
}

// find notes a finding at offset off of the body.
func (j *judged) find(k Kind, off int64) *Finding {
	f := j.c.find(k, j.ch.index, j.k.place(), off)
	f.Tool = j.tool
	return f
}

// inArgs notes a finding at byte i of the arguments.
func (j *judged) inArgs(k Kind, i int64) *Finding {
	f := j.find(k, j.k.trail.find(j.k.args, i))
	f.ArgOffset = &i
	return f
}

// arguments judges the arguments of a call.
func (j *judged) arguments() {
	k := j.k
	if k.value && !j.c.req.dialect.Objects() {
		j.find(ArgsWrongWireType, k.valueAt)
	}
	if len(bytes.TrimSpace(k.args)) == 0 {
		j.empty(LintEmptyString)
		return
	}
	if j.cut && j.spelled() {
		j.c.suspect = true
		return
	}
	switch code := k.machine.Code(); code {
	case jsonstream.OK:
		j.value()
	case jsonstream.Open:
		if j.cut {
			j.certain()
			return
		}
		j.invalid(ArgsTruncated, j.closed())
	case jsonstream.Trailing:
		j.trailing()
	default:
		j.impossible()
	}
}

// closed is where it became certain that the arguments stay open: the end of
// the choice, or their own last byte.
func (j *judged) closed() int64 {
	if j.ch.finished && j.ch.ended > j.k.last {
		return j.ch.ended
	}
	return j.k.last
}

// invalid notes arguments that are no JSON, as what they are and by the common
// name, at an offset of the body.
func (j *judged) invalid(k Kind, off int64) {
	i := j.k.machine.Offset()
	path := j.pointer(jsonstream.Pointer(j.k.args, int(i)), "")
	for _, kind := range []Kind{k, ArgsJSONInvalid} {
		f := j.find(kind, off)
		f.ArgOffset, f.Path = &i, path
		if j.reclosed() {
			f.Cause = CauseParser
		}
		if k == ArgsJSONInvalid {
			return
		}
	}
}

// reclosed reports whether these are the arguments of a call that has none, to
// which SGLang added at the end what it took for the rest of them: 0.5.12 did so
// behind the parsers of DeepSeek V3.2 and V4, 0.5.17 still behind that of GLM 4.5.
func (j *judged) reclosed() bool {
	args := strings.TrimSpace(string(j.k.args[:min(len(j.k.args), 8)]))
	return len(j.k.args) <= 8 && (args == "{}{}" || args == `{}""`)
}

// impossible judges arguments with a byte that no JSON can have there.
func (j *judged) impossible() {
	m := &j.k.machine
	off := j.k.trail.find(j.k.args, m.Offset())
	if m.Lead() != '{' {
		j.invalid(ArgsMissingPrefix, off)
		return
	}
	j.invalid(ArgsJSONInvalid, off)
}

// trailing judges arguments that go on behind a complete value.
func (j *judged) trailing() {
	m := &j.k.machine
	off := j.k.trail.find(j.k.args, m.Offset())
	switch {
	case m.Lead() != '{' && m.Lead() != '[':
		j.invalid(ArgsMissingPrefix, off)
	case jsonstream.Repeats(j.k.args, int(m.End())):
		j.invalid(ArgsDuplicated, off)
	default:
		j.invalid(ArgsTrailingData, off)
	}
}

// empty judges a call without arguments, which is right for a tool that needs none.
func (j *judged) empty(l Lint) {
	if j.k.null {
		l = LintNull
	}
	if j.schema == nil || !j.schema.Needs() {
		if !j.c.req.dialect.Objects() {
			j.c.lint(l)
		}
		return
	}
	if !j.cut {
		j.find(ArgsEmpty, j.closed())
	}
}

// value judges arguments that are JSON.
func (j *judged) value() {
	k := j.k
	switch lead := k.machine.Lead(); {
	case lead == 'n':
		j.empty(LintNull)
		return
	case lead != '{':
		start := int64(len(k.args) - len(strings.TrimLeft(string(k.args), " \t\r\n")))
		j.inArgs(ArgsNotObject, start)
		return
	}
	if j.cut {
		// Parsers close what was cut: what is missing may be their doing.
		j.c.suspect = true
		j.certain()
		return
	}
	j.duplicates()
	j.conform()
}

// duplicates looks for keys that occur twice.
func (j *judged) duplicates() {
	if !j.c.afford(2 * len(j.k.args)) {
		return
	}
	for _, d := range jsonstream.Duplicates(j.k.args, 4) {
		if d.Same {
			j.c.lint(LintDuplicateKey)
			continue
		}
		j.inArgs(ArgsDuplicateKey, int64(d.End-1)).Path = j.pointer(d.Object, d.Key)
	}
}

// conform holds the arguments against the schema of the tool.
func (j *judged) conform() {
	if j.schema == nil {
		return
	}
	found, st := j.checked()
	if st == schema.Ready && j.run().Lost() > 0 {
		j.c.skips = append(j.c.skips, SchemaPartly)
	}
	switch {
	case st == schema.TooComplex:
		j.c.skips = append(j.c.skips, SchemaTooComplex)
	case st == schema.Unusable:
		j.c.skips = append(j.c.skips, SchemaUnusable)
	case len(found) == 0:
	case j.schema.Wrapped(j.k.args, j.c.budget):
		j.c.lint(LintWrappedArguments)
	default:
		j.violations(found)
	}
}

// violations notes each violation, and once that there are any.
func (j *judged) violations(found []schema.Violation) {
	args := j.k.args
	if len(args) > 0 && j.schema.Needs() && strings.TrimSpace(string(args[1:])) == "}" && j.k.machine.Values() == 1 {
		j.inArgs(ArgsEmpty, int64(len(args)-1))
	}
	kinds := map[schema.Class]Kind{
		schema.Required: SchemaRequired, schema.Type: SchemaType, schema.Value: SchemaValue, schema.Additional: SchemaAdditional,
	}
	first := int64(len(args))
	var where string
	for _, v := range found {
		at, path := j.place(v)
		if at < first {
			first, where = at, path
		}
		if k, ok := kinds[v.Class]; ok {
			f := j.inArgs(k, at)
			f.Path = path
			if v.Minor {
				f.Severity = Minor
			}
		}
	}
	j.inArgs(ArgsSchemaViolated, first).Path = where
}

// place is the byte of the arguments at which a violation is certain, and the
// path it is told by.
func (j *judged) place(v schema.Violation) (int64, string) {
	args := j.k.args
	if v.At >= 0 {
		return min(v.At, int64(len(args)-1)), v.Pointer
	}
	if !j.c.afford((2 + len(v.Path)) * len(args)) {
		return int64(len(args) - 1), ""
	}
	s, way, ok := jsonstream.Locate(args, v.Path)
	last := s.End - 1
	switch {
	case !ok:
	case v.Class == schema.Type:
		last = s.Start
	case v.Class == schema.Additional && v.Key != "":
		if m, _, found := jsonstream.Locate(args, append(append([]string(nil), v.Path...), v.Key)); found {
			last = m.KeyEnd - 1
		}
	case v.Class == schema.Additional && s.KeyEnd > 0:
		last = s.KeyEnd - 1
	}
	return int64(last), j.pointer(way, v.Key)
}

// escapes are those of RFC 6901.
var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer spells a path, and a key behind it if there is one. Keys that the
// schema does not name are the model's text: they are told as *.
func (j *judged) pointer(way []jsonstream.Token, key string) string {
	var b strings.Builder
	for _, t := range way {
		if t.Array {
			b.WriteString("/" + strconv.Itoa(t.Index))
			continue
		}
		b.WriteString("/" + j.shown(t.Key))
	}
	if key != "" {
		b.WriteString("/" + j.shown(key))
	}
	return b.String()
}

func (j *judged) shown(key string) string {
	if j.schema == nil || !j.schema.Declares(key) {
		return "*"
	}
	return escapes.Replace(key)
}
