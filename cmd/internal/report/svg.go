package report

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

// drawing is an SVG image that takes its colours from the page.
type drawing struct {
	strings.Builder
	w, h float64
}

// chartWidth is the width of every chart, in the units of its own.
const chartWidth = 720

func draw(height float64, label string) *drawing {
	d := &drawing{w: chartWidth, h: height}
	fmt.Fprintf(d, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg">`, d.w, d.h, html.EscapeString(label))
	return d
}

func (d *drawing) end() string {
	d.WriteString("</svg>")
	return d.String()
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func (d *drawing) text(class string, x, y float64, s string) {
	fmt.Fprintf(d, `<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, x, y, html.EscapeString(plain(s)))
}

func (d *drawing) dot(class string, x, y, r float64, title string) {
	fmt.Fprintf(d, `<circle class="%s" cx="%.1f" cy="%.1f" r="%.1f"><title>%s</title></circle>`, class, x, y, r, html.EscapeString(plain(title)))
}

func (d *drawing) box(class string, x, y, w, h float64, title string) {
	fmt.Fprintf(d, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2"><title>%s</title></rect>`, class, x, y, w, h, html.EscapeString(plain(title)))
}

// top returns where an axis for shares may end so that all lie below.
func top(most float64) float64 {
	for _, t := range []float64{0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75} {
		if most <= t {
			return t
		}
	}
	return 1
}

// share writes a tick of an axis.
func share(p float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*p), ".0") + "%"
}

// rateChart draws the rate of sessions in each level, with its interval, and
// that of turns as a smaller dot.
func rateChart(levels []Level) string {
	names := make([]string, len(levels))
	for i, l := range levels {
		names[i] = l.Value
	}
	return levelChart(names, levels)
}

// tagChart draws the values of a tag.
func tagChart(t Tag) string {
	names := make([]string, len(t.Levels))
	for i, l := range t.Levels {
		names[i] = t.Name + "=" + l.Value
	}
	return levelChart(names, t.Levels)
}

// The places within a chart of levels.
const (
	chartLeft  = 200
	chartRight = 130
	chartRow   = 26
)

func levelChart(names []string, levels []Level) string {
	const foot = 26
	base := float64(len(levels) * chartRow)
	d := draw(base+foot, "Rate of corrupted sessions by level, with 95% intervals; turns as small dots")
	limit := axisEnd(levels)
	x := func(p float64) float64 {
		return chartLeft + math.Min(p, limit)/limit*(chartWidth-chartLeft-chartRight)
	}
	for i := range 6 {
		p := limit * float64(i) / 5
		d.line("grid", x(p), 4, x(p), base)
		d.text("tick mid", x(p), base+16, share(p))
	}
	for i, l := range levels {
		d.level(names[i], l, float64(i*chartRow)+chartRow/2, x)
	}
	return d.end()
}

// level draws a row of the chart.
func (d *drawing) level(name string, l Level, y float64, x func(float64) float64) {
	class := "ok"
	if l.Sessions.Corrupted > 0 {
		class = "bad"
	}
	d.text("name end", chartLeft-12, y+4, cut(name, 30))
	d.line("whisker "+class, x(l.Sessions.Low), y, x(l.Sessions.High), y)
	d.dot("dot "+class, x(l.Sessions.Rate), y, 5.5, "sessions "+l.Sessions.String())
	d.dot("turns", x(l.Turns.Rate), y, 2.5, "turns "+l.Turns.String())
	d.text("value", chartWidth-chartRight+12, y+4, fmt.Sprintf("%d/%d = %s", l.Sessions.Corrupted, l.Sessions.All, percent(l.Sessions.Rate)))
}

// cut keeps a text within n characters.
func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// axisEnd leaves room for the intervals of levels that have enough sessions to
// be seen; those of the others run off the chart.
func axisEnd(levels []Level) float64 {
	most := 0.01
	for _, l := range levels {
		most = max(most, l.Sessions.Rate)
		if l.Sessions.High < 0.5 || len(levels) < 3 {
			most = max(most, l.Sessions.High)
		}
	}
	return top(most)
}

// timeChart draws the sessions of each stretch of time, those corrupted below
// the others, and the changes of configuration.
func timeChart(t Timeline) string {
	const left, right, height, foot, head = 56, 10, 150, 34, 22
	d := draw(head+height+foot, "Sessions over time, corrupted ones marked, with changes of configuration")
	most := 1
	for _, b := range t.Bins {
		most = max(most, b.Sessions.All)
	}
	step := float64(chartWidth-left-right) / float64(len(t.Bins))
	y := func(n int) float64 { return head + height - float64(n)/float64(most)*height }
	for _, n := range []int{0, most / 2, most} {
		d.line("grid", left, y(n), chartWidth-right, y(n))
		d.text("tick end", left-8, y(n)+4, fmt.Sprint(n))
	}
	for i, b := range t.Bins {
		at := left + float64(i)*step
		title := fmt.Sprintf("%s: sessions %s", stamp(b.Begin), b.Sessions)
		d.box("all", at+step*0.1, y(b.Sessions.All), step*0.8, head+height-y(b.Sessions.All), title)
		if b.Sessions.Corrupted > 0 {
			tall := max(2, head+height-y(b.Sessions.Corrupted))
			d.box("hit", at+step*0.1, head+height-tall, step*0.8, tall, title)
		}
	}
	t.marks(d, left, step, head, head+height)
	return d.end()
}

// marks draws the hours and the changes.
func (t *Timeline) marks(d *drawing, left, step, head, base float64) {
	layout := "15:04:05"
	if span := t.Width * float64(len(t.Bins)); span > 3*86400 {
		layout = "Jan 2"
	} else if span > 6*3600 {
		layout = "Jan 2 15:04"
	}
	every := max(1, (len(t.Bins)+5)/6)
	for i := 0; i < len(t.Bins); i += every {
		d.text("tick mid", min(left+(float64(i)+0.5)*step, chartWidth-40), base+18, t.Bins[i].Begin.Format(layout))
	}
	for i, e := range t.Events {
		at := left + e.Time.Sub(t.Bins[0].Begin).Seconds()/t.Width*step
		d.line("event", at, head-6, at, base)
		fmt.Fprintf(d, `<g><title>%s</title>`, html.EscapeString(plain(e.Time.Format(time.DateTime)+": "+e.what())))
		d.text("mark mid", at, head-9, fmt.Sprint(i+1))
		d.WriteString("</g>")
	}
}
