package report

import (
	"fmt"
	"io"
)

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	p := page{w: w}
	p.printf("CORRUPTION sessions: %s\n", r.Sessions)
	p.printf("CORRUPTION turns: %s\n", r.Turns)
	return p.err
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
