package sglang

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// lookEvery is how long a change of a file may go unseen.
const lookEvery = time.Second

// watched is a value read from a file, and read again when that changes. A
// change that cannot be read is logged once, and the value before it stays. A
// nil *watched is the zero value of its type.
type watched[T any] struct {
	what  string // for the log and for errors: the flag
	path  string
	parse func(string) (T, error)
	log   *slog.Logger

	stamp os.FileInfo // owned by watch, once it runs
	value atomic.Pointer[read[T]]
}

// read is a value and since when the file has held it.
type read[T any] struct {
	v     T
	since time.Time
}

// watch reads the file for the first time.
func watch[T any](what, path string, log *slog.Logger, parse func(string) (T, error)) (*watched[T], error) {
	if path == "" {
		return nil, nil
	}
	w := &watched[T]{what: what, path: path, parse: parse, log: log}
	if err := w.load(); err != nil {
		return nil, err
	}
	return w, nil
}

// load reads the file. The stamp is taken first, so that a change during the
// reading is seen the next time.
func (w *watched[T]) load() error {
	info, err := os.Stat(w.path)
	if err != nil {
		return fmt.Errorf("read %s: %w", w.what, err)
	}
	w.stamp = info
	b, err := os.ReadFile(w.path)
	if err != nil {
		return fmt.Errorf("read %s: %w", w.what, err)
	}
	v, err := w.parse(string(b))
	if err != nil {
		return fmt.Errorf("read %s %s: %w", w.what, w.path, err)
	}
	w.value.Store(&read[T]{v, info.ModTime()})
	return nil
}

// run looks after the file until ctx is done.
func (w *watched[T]) run(ctx context.Context) {
	if w == nil {
		return
	}
	for pause(ctx, lookEvery) {
		now, err := os.Stat(w.path)
		if err != nil || os.SameFile(now, w.stamp) && now.Size() == w.stamp.Size() && now.ModTime().Equal(w.stamp.ModTime()) {
			continue
		}
		if err := w.load(); err != nil {
			w.log.Error("kept the old value of a file", "error", err)
			continue
		}
		w.log.Info("took over the new value of a file", "setting", w.what, "file", w.path)
	}
}

func (w *watched[T]) get() (v T) {
	if r := w.dated(); r != nil {
		v = r.v
	}
	return v
}

// dated returns the value and since when the file has held it, another one for
// each time that the file was read; nil: there is none.
func (w *watched[T]) dated() *read[T] {
	if w == nil {
		return nil
	}
	return w.value.Load()
}

// pause waits, and reports false when ctx is done first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// parseKey takes what a file of a key holds.
func parseKey(text string) (string, error) {
	key := strings.TrimSpace(text)
	if key == "" {
		return "", fmt.Errorf("it is empty")
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' {
			return "", fmt.Errorf("a key has neither spaces nor characters beyond ASCII")
		}
	}
	return key, nil
}

// parseLabels takes key=value lines. Empty lines and those that begin with #
// say nothing.
func parseLabels(text string) (map[string]string, error) {
	labels := make(map[string]string)
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || !usable(name) {
			return nil, fmt.Errorf("line %d is no label: write name=value, the name in lower-case letters, digits and _", n)
		}
		labels[name] = value
	}
	if len(labels) > maxLabels {
		return nil, fmt.Errorf("it has %d labels, more than %d", len(labels), maxLabels)
	}
	return labels, nil
}

// readLabels takes them as tags have them.
func readLabels(text string) ([]field, error) {
	labels, err := parseLabels(text)
	return labelled(labels), err
}
