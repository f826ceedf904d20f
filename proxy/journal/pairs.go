package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"turnwatch/proxy/turn"
)

// Pair queues the line of a pair of answers, as Finish does a turn's.
func (w *Writer) Pair(p *turn.Pair) { w.add(p) }

// Opinion queues the line of a second opinion.
func (w *Writer) Opinion(o *turn.Opinion) { w.add(o) }

// Restart queues the line of a server's restart.
func (w *Writer) Restart(r *turn.Restart) { w.add(r) }

// Pairs yields the pairs in r. Lines of other types are passed over, and so are those that
// cannot be read: who asks for turns is told of them. An error is r's and the last.
func Pairs(r io.Reader) iter.Seq2[*turn.Pair, error] {
	return func(yield func(*turn.Pair, error) bool) {
		for l, err := range Lines(r) {
			if err != nil {
				yield(nil, err)
				return
			}
			if p := pairIn(l.Text); p != nil && !yield(p, nil) {
				return
			}
		}
	}
}

// pairIn returns the pair of a line, nil if there is none. Most lines are turns: they are
// not parsed.
func pairIn(line []byte) *turn.Pair {
	if !bytes.Contains(line, []byte(`"shadow_pair"`)) {
		return nil
	}
	var l struct {
		Type string `json:"type"`
		turn.Pair
	}
	if json.Unmarshal(line, &l) != nil || l.Type != "shadow_pair" || l.V < 1 || l.V > turn.Version {
		return nil
	}
	return &l.Pair
}

// Past is what a journal held at a moment, its rotated files first. Who writes the
// journal meanwhile adds nothing to it.
type Past struct {
	io.Reader
	files []*os.File
}

// OpenPast opens what the journal at path holds now. None is no error.
func OpenPast(path string) (*Past, error) {
	p := new(Past)
	names, err := Files(path)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var parts []io.Reader
	for _, name := range names {
		part, err := p.open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted to keep the cap
		}
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("read journal: %w", err)
		}
		parts = append(parts, part)
	}
	p.Reader = io.MultiReader(parts...)
	return p, nil
}

// open opens a file as long as it is now. What is no regular file holds no past.
func (p *Past) open(name string) (io.Reader, error) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return bytes.NewReader(nil), err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	p.files = append(p.files, f)
	return io.LimitReader(f, info.Size()), nil
}

// Close closes the files.
func (p *Past) Close() error {
	var errs []error
	for _, f := range p.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
