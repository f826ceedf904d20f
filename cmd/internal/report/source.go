package report

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"turnwatch/proxy/journal"
	"turnwatch/proxy/turn"
)

// Source says what was read.
type Source struct {
	Files      []string       `json:"files"`
	Replicas   int            `json:"replicas"` // journals: one each, however often rotated
	Lines      int            `json:"lines"`
	Turns      int            `json:"turns"`
	Other      map[string]int `json:"other_lines,omitempty"` // lines that are no turns, by type
	Bad        int            `json:"unreadable_lines"`
	Faults     []Fault        `json:"faults,omitempty"`            // the first of them
	Failed     []string       `json:"failed,omitempty"`            // files that could not be read, or not to their end
	Prometheus bool           `json:"prometheus,omitempty"`        // counters were read, not journals
	Again      int            `json:"turns_read_again,omitempty"`  // left out: their ids were read before
	Loud       []string       `json:"tags_of_their_own,omitempty"` // tags left out: each turn has its own value, or nearly
	TagsLost   int            `json:"tags_left_out,omitempty"`     // turns whose tags are more than is kept
}

// Fault is a line that cannot be read.
type Fault struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Offset int64  `json:"byte"`
	Err    string `json:"error"`
}

// maxFaults bounds the faults that are located; all are counted.
const maxFaults = 20

func newFault(l journal.Line, err error) *Fault {
	var at *journal.LineError
	if errors.As(err, &at) {
		err = at.Err
	}
	return &Fault{Line: l.Number, Offset: l.Offset, Err: err.Error()}
}

// stdin is the path that names standard input.
const stdin = "-"

// file is one file of a journal.
type file struct {
	path    string
	replica string // the path of the journal that it belongs to
}

// Read reads the journals that the paths name: a journal with its rotated
// files, one file, compressed or not, a folder of journals, or - for stdin. The
// error is that of a path that names nothing; what fails later is noted in
// Source.
func Read(ctx context.Context, paths []string, in io.Reader) (*Data, error) {
	var files []file
	for _, p := range paths {
		more, err := expand(p)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	files = once(files)
	d := newData()
	g := newGatherer(ctx, d)
	for _, f := range files {
		d.Source.Files = append(d.Source.Files, f.path)
		g.file(f, in)
	}
	g.close()
	d.sort()
	d.Source.Turns, d.Source.Replicas = len(d.rows), len(d.replicas.all)
	return d, ctx.Err()
}

// once leaves out files that are named twice.
func once(files []file) (all []file) {
	seen := map[string]bool{}
	for _, f := range files {
		if !seen[f.path] {
			seen[f.path] = true
			all = append(all, f)
		}
	}
	return all
}

// expand returns the files that a path stands for.
func expand(path string) ([]file, error) {
	if path == stdin {
		return []file{{stdin, stdin}}, nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return folder(path)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var files []file
	rotated, err2 := journal.Files(path)
	if err2 != nil {
		return nil, fmt.Errorf("read journal: %w", err2)
	}
	packed, _ := filepath.Glob(escape(strings.TrimSuffix(path, filepath.Ext(path))) + "-*" + filepath.Ext(path) + ".gz") // the pattern is good
	for _, p := range append(packed, rotated...) {
		files = append(files, file{p, path})
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("read journal: %w", cmpErr(err, os.ErrNotExist))
	}
	return files, nil
}

func cmpErr(err, or error) error {
	if err != nil {
		return err
	}
	return or
}

// escape makes a pattern of a path that matches it alone.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// folder returns the journals in a folder: all files that end in .jsonl or
// .jsonl.gz.
func folder(dir string) ([]file, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read journals: %w", err)
	}
	var files []file
	for _, e := range entries {
		if n := e.Name(); strings.HasSuffix(n, ".jsonl") || strings.HasSuffix(n, ".jsonl.gz") {
			files = append(files, file{filepath.Join(dir, n), filepath.Join(dir, replica(n))})
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("read journals: no file in %s ends in .jsonl or .jsonl.gz", dir)
	}
	return files, nil
}

// replica returns the name of the journal that a file was rotated from, or its
// own: NAME-20060102T150405….jsonl is one of NAME.jsonl.
func replica(name string) string {
	base := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".jsonl")
	if i := strings.LastIndex(base, "-20"); i > 0 && strings.Contains(base[i:], "T") {
		base = base[:i]
	}
	return base + ".jsonl"
}

// open opens a file, unpacked if need be.
func (f file) open(in io.Reader) (io.ReadCloser, error) {
	if f.path == stdin {
		return unpacked(io.NopCloser(in))
	}
	h, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	return unpacked(h)
}

// unpacked returns r, or what is in it if it is compressed, whatever its name.
func unpacked(r io.ReadCloser) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(r, 256<<10)
	if head, _ := b.Peek(2); !slices.Equal(head, []byte{0x1f, 0x8b}) { // the error comes back when it is read
		return both{b, r}, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("unpack journal: %w", err)
	}
	return both{z, r}, nil
}

// both reads from one and closes the other.
type both struct {
	io.Reader
	io.Closer
}

// take takes an entry into d.
func (d *Data) take(e *entry, f file) {
	switch {
	case e.none:
		return
	case e.fault != nil:
		d.fault(e.fault, f)
		return
	case e.kind != "":
		d.other(e)
		return
	}
	r := &e.row
	r.model, r.arm = d.models.of(e.names[nameModel]), d.arms.of(e.names[nameArm])
	r.reason, r.finish = d.reasons.of(e.names[nameReason]), d.finishes.of(e.names[nameFinish])
	r.replica = d.replicas.of(f.replica)
	r.session = maphash.Comparable(d.seed, [2]uint64{r.session, uint64(r.replica)})
	if r.config = d.config(e.names[nameConfig]); r.config < 0 {
		d.Source.TagsLost++
	}
	d.add(r)
	if e.example != nil && len(d.examples) < maxExamples {
		e.example.arm = r.arm
		d.examples = append(d.examples, *e.example)
	}
}

// fault notes a line that cannot be read.
func (d *Data) fault(at *Fault, f file) {
	d.Source.Bad++
	if len(d.Source.Faults) < maxFaults {
		at.File = f.path
		d.Source.Faults = append(d.Source.Faults, *at)
	}
}

// maxTypes bounds the types of lines that are told apart.
const maxTypes = 32

// other notes a line that is no turn.
func (d *Data) other(e *entry) {
	if d.Source.Other == nil {
		d.Source.Other = map[string]int{}
	}
	kind := e.kind
	if _, ok := d.Source.Other[kind]; !ok && len(d.Source.Other) >= maxTypes {
		kind = "others"
	}
	d.Source.Other[kind]++
	if r := e.restart; r != nil && (r.Arm == "" || r.Arm == turn.Live) && len(d.restarts) < maxChanges {
		d.restarts = append(d.restarts, *r)
	}
	if e.opinion != nil {
		d.opinion(e.opinion)
	}
	if c := e.change; c != nil && (c.Arm == "" || c.Arm == turn.Live) && len(d.changes) < maxChanges {
		d.changes = append(d.changes, *c)
	}
}

// maxChanges bounds the changes of configuration that are kept, and the restarts: those of the live server.
// What befell the others is told of shadow traffic.
const maxChanges = 10_000
