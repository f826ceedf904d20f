package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"turnwatch/validate"
)

// printer prints verdicts.
type printer struct {
	w        io.Writer
	json     bool
	outcomes map[validate.Outcome]int
}

// row is a verdict as -json prints it.
type row struct {
	ID       string             `json:"id"`
	Verdict  validate.Outcome   `json:"verdict"`
	Kinds    []string           `json:"kinds"`
	Call     *int               `json:"call_index"`
	Reason   validate.Reason    `json:"reason,omitempty"`
	Suspect  bool               `json:"suspect,omitempty"`
	Findings []validate.Finding `json:"findings"`
	Lints    []validate.Lint    `json:"lints,omitempty"`
}

// turn prints the verdict on a turn.
func (p *printer) turn(_ *validate.Request, x *exchange, v validate.Verdict) {
	if p.outcomes == nil {
		p.outcomes = map[validate.Outcome]int{}
	}
	p.outcomes[v.Outcome]++
	if !p.json {
		p.people(x, v)
		return
	}
	line, err := json.Marshal(row{x.id, v.Outcome, kinds(v), call(v), v.Reason, v.Suspect, v.Findings, v.Lints})
	if err != nil {
		panic("turncheck: " + err.Error()) // plain data always encodes
	}
	fmt.Fprintf(p.w, "%s\n", line)
}

// kinds are those of the findings, each once, and the reason of what could not
// be judged.
func kinds(v validate.Verdict) []string {
	all := []string{}
	for _, f := range v.Findings {
		if k := string(f.Kind); !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	if r := string(v.Reason); r != "" && !slices.Contains(all, r) {
		all = append(all, r)
	}
	return all
}

// call is the first call that a finding is in, nil if none is.
func call(v validate.Verdict) *int {
	for i := range v.Findings {
		if k := v.Findings[i].Call; k != nil {
			return k
		}
	}
	return nil
}

// people prints a verdict for people: a line, and each place once.
func (p *printer) people(x *exchange, v validate.Verdict) {
	fmt.Fprintf(p.w, "%-10s  %s", v.Outcome, x.id)
	if told := strings.Join(kinds(v), " "); told != "" {
		fmt.Fprintf(p.w, "  %s", told)
	}
	if v.Suspect {
		fmt.Fprint(p.w, "  (suspect)")
	}
	fmt.Fprintln(p.w)
	if v.Outcome != validate.Corrupted {
		return
	}
	body := x.body()
	shown := map[int64]bool{}
	for i := range v.Findings {
		f := &v.Findings[i]
		fmt.Fprintf(p.w, "  %s\n", where(f))
		if !shown[f.Offset] {
			shown[f.Offset] = true
			p.caret(body, f.Offset)
		}
	}
}

// where says what a finding is and where.
func where(f *validate.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at byte %d", f.Kind, f.Offset)
	if f.Choice > 0 {
		fmt.Fprintf(&b, ", choice %d", f.Choice)
	}
	if f.Call != nil {
		fmt.Fprintf(&b, ", call %d", *f.Call)
	}
	if f.Tool != "" {
		b.WriteString(" of " + f.Tool)
	}
	if f.ArgOffset != nil {
		fmt.Fprintf(&b, ", byte %d of its arguments", *f.ArgOffset)
	}
	if f.Path != "" {
		b.WriteString(", " + f.Path)
	}
	if f.Cause == validate.CauseParser {
		b.WriteString(", a fault of the parser")
	}
	return b.String()
}

// context is how many bytes are shown on each side of a place.
const context = 40

// caret prints the bytes around an offset, and a caret under the one there.
func (p *printer) caret(body []byte, at int64) {
	if len(body) == 0 {
		return
	}
	i := int(min(at, int64(len(body)-1)))
	from, to := max(i-context, 0), min(i+context, len(body))
	for from > 0 && !utf8.RuneStart(body[from]) {
		from--
	}
	before, after := plain(body[from:i]), plain(body[i:to])
	fmt.Fprintf(p.w, "    %s%s\n    %*s\n", before, after, utf8.RuneCountInString(before)+1, "^")
}

// plain makes bytes fit on a line: a character that cannot be shown becomes a
// dot.
func plain(b []byte) string {
	return string(bytes.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, b))
}

// sum prints how many turns there were of each verdict.
func (p *printer) sum() {
	if p.json || len(p.outcomes) == 0 {
		return
	}
	n, parts := 0, []string{}
	for _, o := range []validate.Outcome{validate.Clean, validate.Corrupted, validate.Truncated, validate.Unverified} {
		if p.outcomes[o] > 0 {
			n += p.outcomes[o]
			parts = append(parts, fmt.Sprintf("%d %s", p.outcomes[o], o))
		}
	}
	turns := "turns"
	if n == 1 {
		turns = "turn"
	}
	fmt.Fprintf(p.w, "%d %s: %s\n", n, turns, strings.Join(parts, ", "))
}
