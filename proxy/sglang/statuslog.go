package sglang

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// The bounds of what is remembered of a status log, and how it is read.
const (
	tailEvery   = 200 * time.Millisecond
	tailPiece   = 256 << 10 // bytes of one file at a time
	tailBacklog = 4 << 20   // an older part of a file that grows faster is left out
	tailLine    = 1 << 20
	tailEntries = 512
	tailRIDs    = 1024 // an entry
	tailFiles   = 64
)

// entry is a line of the log: who shared a batch.
type entry struct {
	at   time.Time
	rids map[string]bool
}

// statusLog follows SGLang's status log, a file or a folder with one for each
// rank.
type statusLog struct {
	path  string
	log   *slog.Logger
	stats *stats
	files map[string]*tail // owned by run
	sick  bool             // the log was told so

	mu   sync.Mutex
	ring []entry
	next int
}

// tail is one file of the log.
type tail struct {
	info os.FileInfo
	off  int64
	part []byte // a line without its end
	skip bool   // the rest of the line is left out: it is too long
}

// run follows the log until ctx is done. What was in it before is of no
// interest.
func (l *statusLog) run(ctx context.Context) {
	if l.path == "" {
		return
	}
	l.files = make(map[string]*tail)
	first := true
	for ok := true; ok; ok = pause(ctx, tailEvery) {
		err := l.look(first)
		first = false
		switch {
		case err != nil:
			l.stats.poll(pollLog, false)
			if !l.sick {
				l.log.Warn("-status-log cannot be read; it is tried again", "error", err)
			}
			l.sick = true
			if !pause(ctx, firstWait) {
				return
			}
		case l.sick:
			l.sick = false
			l.log.Info("-status-log can be read")
		}
	}
}

// look reads what is new.
func (l *statusLog) look(first bool) error {
	names := []string{l.path}
	if info, err := os.Stat(l.path); err != nil {
		return err
	} else if info.IsDir() {
		if names, err = filepath.Glob(filepath.Join(l.path, "*.log")); err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range names[:min(len(names), tailFiles)] {
		errs = append(errs, l.follow(name, first))
	}
	return errors.Join(errs...)
}

// follow reads what is new in one file. One that was cut or replaced is read
// from its start.
func (l *statusLog) follow(name string, first bool) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	t := l.files[name]
	if t == nil || !os.SameFile(info, t.info) || info.Size() < t.off {
		t = new(tail)
		l.files[name] = t
		if first {
			t.off = info.Size()
		}
	}
	t.info = info
	if info.Size()-t.off > tailBacklog {
		t.off, t.part, t.skip = info.Size()-tailPiece, nil, true
	}
	return l.read(f, t)
}

func (l *statusLog) read(f *os.File, t *tail) error {
	buf := make([]byte, tailPiece)
	for {
		n, err := f.ReadAt(buf, t.off)
		t.off += int64(n)
		for line := range bytes.Lines(buf[:n]) {
			t.add(line, l.line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add takes a line, or a part of one, and gives whole ones to do.
func (t *tail) add(b []byte, do func([]byte)) {
	whole := b[len(b)-1] == '\n'
	if len(t.part)+len(b) > tailLine {
		t.part, t.skip = nil, true
	}
	if !t.skip {
		t.part = append(t.part, b...)
	}
	if !whole {
		return
	}
	if !t.skip {
		do(t.part)
	}
	t.part, t.skip = t.part[:0], false
}

// line takes in one line, if it tells of a batch.
func (l *statusLog) line(b []byte) {
	if !gjson.ValidBytes(b) {
		return
	}
	v := gjson.GetManyBytes(b, "event", "timestamp", "running_rids")
	if v[0].String() != "scheduler.status" || !v[2].IsArray() {
		return
	}
	e := entry{at: moment(v[1]), rids: make(map[string]bool)}
	for _, rid := range v[2].Array() {
		if s := rid.String(); len(s) <= maxValue && len(e.rids) < tailRIDs && !strings.HasPrefix(s, "HEALTH_CHECK") {
			e.rids[s] = true
		}
	}
	l.stats.poll(pollLog, true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) < tailEntries {
		l.ring = append(l.ring, e)
		return
	}
	l.ring[l.next] = e
	l.next = (l.next + 1) % tailEntries
}

// moment reads a time, as seconds since the epoch or in ISO 8601. What is
// neither, or far from now, is now: the line was just written.
func moment(v gjson.Result) time.Time {
	now, t := time.Now(), time.Time{}
	if v.Type == gjson.Number {
		t = time.UnixMicro(int64(v.Float() * 1e6))
	} else {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
			if got, err := time.ParseInLocation(layout, v.String(), time.Local); err == nil {
				t = got
			}
		}
	}
	if now.Sub(t).Abs() > time.Minute {
		return now
	}
	return t
}

// most returns the largest batch that a request was seen in between two
// moments.
func (l *statusLog) most(rid string, from, to time.Time) (n int, ok bool) {
	l.each(rid, func(e entry) {
		if !e.at.Before(from) && !e.at.After(to) {
			n, ok = max(n, len(e.rids)), true
		}
	})
	return n, ok
}

// nearest returns the batch that a request was seen in nearest to a moment.
func (l *statusLog) nearest(rid string, t time.Time) (n int, age time.Duration, ok bool) {
	l.each(rid, func(e entry) {
		if d := t.Sub(e.at).Abs(); !ok || d < age {
			n, age, ok = len(e.rids), d, true
		}
	})
	return n, age, ok && age <= fresh
}

func (l *statusLog) each(rid string, do func(entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.ring {
		if e.rids[rid] {
			do(e)
		}
	}
}
