package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"turnwatch/cmd/internal/stress"
)

// progress shows live counts: on a terminal a line that is written over, elsewhere
// one every ten seconds. Its functions are called one at a time.
type progress struct {
	w     io.Writer // nil shows nothing
	live  bool
	two   bool
	began time.Time

	mu       sync.Mutex
	last     time.Time
	done     int
	total    int
	classes  [stress.Classes]int
	sessions [2]stress.Rate
	batch    int
}

func (o *runOptions) progress(stderr io.Writer) *progress {
	p := &progress{live: terminal(stderr), two: o.b != "", began: time.Now(), last: time.Now()}
	if !o.quiet {
		p.w = stderr
	}
	return p
}

// terminal reports whether w is one.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) turn(t *stress.Turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.Counted {
		p.classes[t.Class()]++
	}
}

func (p *progress) session(s *stress.Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.batch = max(p.batch, s.Batch)
	if s.Judged() {
		r := &p.sessions[s.Target]
		r.All++
		if s.Corrupt() {
			r.Corrupted++
		}
	}
}

func (p *progress) progress(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total = done, total
	every := 10 * time.Second
	if p.live {
		every = 200 * time.Millisecond
	}
	if p.w == nil || time.Since(p.last) < every {
		return
	}
	p.last = time.Now()
	p.show()
}

func (p *progress) show() {
	line := fmt.Sprintf("%s  %d/%d turns: %d right, %d wrong, %d corrupted, %d failed; sessions %s",
		time.Since(p.began).Round(time.Second), p.done, p.total, p.classes[stress.Right], p.classes[stress.Wrong],
		p.classes[stress.Corrupted], p.classes[stress.Failed], fraction(p.sessions[0]))
	if p.two {
		line += " on A, " + fraction(p.sessions[1]) + " on B"
	}
	if p.batch > 0 {
		line += fmt.Sprintf("; batch up to %d", p.batch)
	}
	if p.live {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		return
	}
	fmt.Fprintln(p.w, line)
}

func fraction(r stress.Rate) string { return fmt.Sprintf("%d/%d corrupted", r.Corrupted, r.All) }

// end takes the line away.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live && p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
