package evidence

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"turnwatch/proxy/turn"
)

// The bounds of what is remembered of other turns.
const (
	maxRecent  = 4096    // turns that have ended
	maxLine    = 4 << 10 // of a journal's line; longer ones are not listed
	maxOverlap = 1024    // lines of one folder
	maxOpen    = 64      // folders that may still be added to
)

// past is a turn that has ended.
type past struct {
	from, to time.Time
	line     []byte
}

// recent are the latest turns that have ended.
type recent struct {
	ring []past
	next int // the oldest, once the ring is full
	room []byte
}

// end is when the answer of a turn ended.
func end(t *turn.Turn) time.Time {
	return t.Time.Add(time.Duration(t.DurationMS * float64(time.Millisecond)))
}

func (r *recent) add(t *turn.Turn) {
	if len(r.ring) < maxRecent {
		r.ring = append(r.ring, past{})
	}
	p := &r.ring[r.next]
	r.next = (r.next + 1) % maxRecent
	p.from, p.to = t.Time, end(t)
	r.room = append(t.AppendJSON(r.room[:0]), '\n')
	if p.line = p.line[:0]; len(r.room) <= maxLine {
		p.line = append(p.line, r.room...)
	}
}

// during returns the lines of the turns that were under way during t, and how
// many more there were.
func (r *recent) during(t *turn.Turn) (lines [][]byte, missing int) {
	from, to := t.Time, end(t)
	for i := range r.ring {
		p := &r.ring[i]
		switch {
		case p.from.After(to) || p.to.Before(from) || p.from.Equal(from) && bytes.Contains(p.line, []byte(`"id":"`+t.ID+`"`)):
		case len(p.line) == 0 || len(lines) == maxOverlap:
			missing++
		default:
			lines = append(lines, bytes.Clone(p.line))
		}
	}
	return lines, missing
}

// open is a folder that turns may still be added to.
type open struct {
	id       string
	from, to time.Time
	until    time.Time
	lines    [][]byte
	all      int // lines that came late
}

// late adds a turn to the folders of those that it overlapped. mu is held.
func (w *Writer) late(t *turn.Turn) {
	if len(w.open) == 0 {
		return
	}
	now, from, to := time.Now(), t.Time, end(t)
	w.open = slices.DeleteFunc(w.open, func(o *open) bool { return o.until.Before(now) && len(o.lines) == 0 })
	var line []byte
	for _, o := range w.open {
		if from.After(o.to) || to.Before(o.from) || o.until.Before(now) {
			continue
		}
		if o.all++; o.all > maxOverlap {
			continue
		}
		if line == nil {
			line = append(t.AppendJSON(nil), '\n')
		}
		o.lines = append(o.lines, line)
	}
}

// flush adds the lines that came late to their folders.
func (w *Writer) flush() {
	w.mu.Lock()
	lines := make(map[string][][]byte)
	for _, o := range w.open {
		if len(o.lines) > 0 {
			lines[o.id] = o.lines
			o.lines = nil
		}
	}
	w.mu.Unlock()
	for id, more := range lines {
		removed, err := w.disk.extend(id, w.overlap(more))
		w.mu.Lock()
		if w.stats.Removed += removed; err != nil {
			w.tell(id, err)
		}
		w.mu.Unlock()
	}
}

// overlap makes the file of turns that overlapped of their lines.
func (w *Writer) overlap(lines [][]byte) []byte {
	if len(w.mask.patterns) == 0 {
		return bytes.Join(lines, nil)
	}
	var out []byte
	for _, line := range lines {
		t := new(turn.Turn)
		if json.Unmarshal(line, t) == nil {
			w.mask.turn(t)
			out = append(t.AppendJSON(out), '\n')
		}
	}
	return out
}
