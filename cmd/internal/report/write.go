package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// section is a part of the report, whatever it is written as.
type section struct {
	id     string
	title  string
	blocks []any // para, bullets, table or chart
}

// para is a sentence or more.
type para string

// bullets are sentences that stand for themselves.
type bullets []string

// table has a head and rows. Columns named in right hold numbers.
type table struct {
	head  []string
	right string // one character a column: r for the right, l for the left
	rows  [][]string
	fold  bool // a drawing says the same: it may wait to be opened
}

// chart is a drawing, for the form that can draw.
type chart struct{ svg func() string }

func (s *section) para(format string, args ...any) {
	s.blocks = append(s.blocks, para(fmt.Sprintf(format, args...)))
}

func (s *section) add(b any) { s.blocks = append(s.blocks, b) }

// JSON writes the report for machines.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// page writes and remembers the first error.
type page struct {
	w   io.Writer
	err error
}

func (p *page) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// Text writes the report for people at a terminal.
func (r *Report) Text(w io.Writer) error {
	p := page{w: w}
	for _, l := range r.headline() {
		p.printf("%s\n", l)
	}
	for _, s := range r.sections() {
		p.printf("\n%s\n", strings.ToUpper(s.title))
		for _, b := range s.blocks {
			p.block(b)
		}
	}
	return p.err
}

// Summary writes the rates and what explains them, and leaves out the rest.
func (r *Report) Summary(w io.Writer) error {
	p := page{w: w}
	for _, l := range r.headline() {
		p.wrap("", "", l)
	}
	for _, b := range r.causes().blocks {
		p.block(b)
	}
	return p.err
}

func (p *page) block(b any) {
	switch b := b.(type) {
	case para:
		p.wrap("  ", "  ", string(b))
	case bullets:
		for _, s := range b {
			p.wrap("  - ", "    ", s)
		}
	case finding:
		p.printf("  %s\n", b.text)
		p.wrap("    ", "    ", b.grounds)
	case table:
		p.table(b)
	}
}

// textWidth is where lines of prose are broken.
const textWidth = 112

// wrap writes prose, broken at spaces.
func (p *page) wrap(first, rest, s string) {
	line, n := first, utf8.RuneCountInString(first)
	begun := false
	for _, word := range strings.Fields(s) {
		k := utf8.RuneCountInString(word)
		if begun && n+1+k > textWidth {
			p.printf("%s\n", line)
			line, n, begun = rest, utf8.RuneCountInString(rest), false
		}
		if begun {
			line, n = line+" ", n+1
		}
		line, n, begun = line+word, n+k, true
	}
	p.printf("%s\n", line)
}

func (p *page) table(t table) {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range append([][]string{t.head}, t.rows...) {
		line := "  "
		for i, c := range row {
			line += "  " + pad(c, widths[i], t.right[i] == 'r')
		}
		p.printf("%s\n", strings.TrimRight(line, " "))
	}
}

func pad(s string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if right {
		return space + s
	}
	return s + space
}

// Markdown writes the report for an issue or a wiki.
func (r *Report) Markdown(w io.Writer) error {
	p := page{w: w}
	p.printf("# turnwatch report\n\n```\n%s\n```\n", strings.Join(r.headline(), "\n"))
	for _, s := range r.sections() {
		p.printf("\n## %s\n", s.title)
		for _, b := range s.blocks {
			p.mark(b)
		}
	}
	return p.err
}

func (p *page) mark(b any) {
	switch b := b.(type) {
	case para:
		p.printf("\n%s\n", escapeMark(string(b)))
	case code:
		p.printf("\n```\n%s\n```\n", strings.ReplaceAll(string(b), "`", "'"))
	case bullets:
		p.printf("\n")
		for _, s := range b {
			p.printf("- %s\n", escapeMark(s))
		}
	case finding:
		p.printf("\n**%s**\n%s\n", escapeMark(b.text), escapeMark(b.grounds))
	case table:
		p.markTable(b)
	}
}

func (p *page) markTable(t table) {
	cells := func(row []string) string {
		marked := make([]string, len(row))
		for i, c := range row {
			marked[i] = escapeMark(c)
		}
		return "| " + strings.Join(marked, " | ") + " |"
	}
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "---"
		if t.right[i] == 'r' {
			rule[i] = "---:"
		}
	}
	p.printf("\n%s\n| %s |\n", cells(t.head), strings.Join(rule, " | "))
	for _, row := range t.rows {
		p.printf("%s\n", cells(row))
	}
}

// escapeMark keeps what journals hold from being taken for markup.
func escapeMark(s string) string {
	return strings.NewReplacer("\n", " ", "\r", " ", `\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "&", "&amp;", "[", `\[`, "]", `\]`).Replace(s)
}

// plain makes text of a journal safe to print: what cannot be shown becomes a
// dot.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' || 0x7f <= r && r < 0xa0 || r == '\u2028' || r == '\u2029' || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 {
			return '·'
		}
		return r
	}, s)
}
