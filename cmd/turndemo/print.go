package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"turnwatch/proxy/sglangtest"
)

// printer writes the demo's output.
type printer struct {
	w    io.Writer
	live bool // a terminal: lines can be written over
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

func (p *printer) intro(o options) {
	p.printf(`
  agents ──▶ turnwatch ──▶ SGLang (simulated)

  %d agent sessions, %d at a time, call tools on each of four servers that differ
  in one setting. On one of them a tool call now and then comes out wrong.
  turnwatch is not told which: it relays the bytes and judges every turn.

  index keys  graph  overlap
`, o.sessions, min(o.concurrency, o.sessions))
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func (c cell) row() string {
	return fmt.Sprintf("  %-10s  %-5s  %-7s  ", c.dtype, onOff(c.graph), onOff(c.overlap))
}

func (p *printer) begin(c cell) { p.printf("%s", c.row()) }

// progress returns what draws a bar, at most ten times a second.
func (p *printer) progress(c cell) func(done, total int) {
	if !p.live {
		return nil
	}
	var mu sync.Mutex
	var last time.Time
	return func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) < 100*time.Millisecond {
			return
		}
		last = time.Now()
		const width = 30
		full := done * width / total
		p.printf("\r%s%s%s %d/%d turns", c.row(), strings.Repeat("━", full), strings.Repeat("─", width-full), done, total)
	}
}

// clear takes a terminal's line away.
func (p *printer) clear() {
	if p.live {
		p.printf("\r\x1b[K")
	}
}

func (p *printer) end(r *result) {
	if p.live {
		p.clear()
		p.begin(r.cell)
	}
	p.printf("%s\n", r.tally.Sessions.Line("sessions"))
	if n := r.tally.Outcomes["unverified"]; n > 0 {
		p.printf("  %d turns could not be judged and are not counted\n", n)
	}
}

// story says what the rows say, and holds them against the truth.
func (p *printer) story(results []*result) bool {
	struck, found, extra, turns := 0, 0, 0, 0
	var took time.Duration
	for _, r := range results {
		s, f, e := r.compare()
		struck, found, extra = struck+s, found+f, extra+e
		took += r.took
		turns += len(r.turns)
	}
	p.printf("\n  %d turns in %.1f s, up to %d in one batch. In brackets: 95%% interval (Wilson).\n",
		turns, took.Seconds(), results[0].stand.sim.Counters().LargestBatch)
	if only(results) {
		p.printf("  Take away any one of bf16, graph and overlap, and the corruption is gone.\n")
	}
	p.printf("  The simulator says it corrupted %d turns; turnwatch named %d of them, and %d others.\n", struck, found, extra)
	return found == struck && extra == 0
}

// only reports whether the first of the results is the only one with corruption.
func only(results []*result) bool {
	for _, r := range results[1:] {
		if r.tally.Sessions.Corrupted > 0 {
			return false
		}
	}
	return results[0].tally.Sessions.Corrupted > 0
}

// detail shows the first corrupted turn.
func (p *printer) detail(results []*result) {
	for _, r := range results {
		if len(r.tally.Corrupted) > 0 {
			p.turn(r)
			return
		}
	}
}

func (p *printer) turn(r *result) {
	t := r.tally.Corrupted[0]
	p.printf("\n  One corrupted turn, as the journal has it\n\n")
	p.printf("    request   %s, at %s\n", t.RequestID, t.Time.Local().Format("15:04:05.000"))
	p.printf("    answer    status %d, %d bytes in %.0f ms, ending %s, finish %s\n",
		t.Status, t.BytesOut, t.DurationMS, t.Ending, strings.Join(t.FinishReasons, ", "))
	p.printf("    verdict   %s\n", t.Outcome)
	for _, f := range t.Findings {
		p.printf("    finding   %s (%s)", f.Kind, f.Severity)
		if f.Tool != "" {
			p.printf(" in a call of %s", f.Tool)
		}
		if f.Path != "" {
			p.printf(", argument %s", f.Path)
		}
		p.printf("\n              certain at byte %d, %.1f ms after the first\n", f.Offset, f.AtMS)
	}
	if c := r.turns[t.RequestID]; c != nil && c.Wrong != nil {
		p.printf("    truth     the agent, which knows the right answer, says:\n              %v\n", c.Wrong)
	}
	p.truth(r, t.RequestID)
}

// truth says what nobody but the simulator knows.
func (p *printer) truth(r *result, id string) {
	rec, ok := r.struck()[id]
	if !ok || len(rec.Runs) == 0 {
		return
	}
	batch := func(a, b sglangtest.Run) int { return a.Batch - b.Batch }
	small, large := slices.MinFunc(rec.Runs, batch), slices.MaxFunc(rec.Runs, batch)
	p.printf("              the server, which knows its batch, says:\n              %s requests decoded together, in a graph for %s\n",
		between(small.Batch, large.Batch), between(small.Bucket, large.Bucket))
}

func between(a, b int) string {
	if a == b {
		return fmt.Sprint(a)
	}
	return fmt.Sprintf("%d to %d", a, b)
}

func (p *printer) hint(results []*result, keep bool) {
	if keep {
		p.printf("\n  Still running; interrupt to end:\n\n")
		for _, r := range results {
			p.printf("  %s%s ──▶ %s   journal %s\n", r.cell.row(), r.stand.url, r.stand.sim.URL, r.stand.path)
		}
	}
	p.printf(`
  In front of your own server:

    go run ./cmd/turnwatch -upstream http://127.0.0.1:30000 -journal turns.jsonl

  and let your agents talk to http://127.0.0.1:8080 instead; nothing else changes.
`)
}
