package journal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// stamp is how the time of a rotation is written in a file's name; names sort
// as the times do.
const stamp = "20060102T150405.000000000Z"

// checkEvery is how often it is looked whether path still names our file.
const checkEvery = time.Second

// file is the journal on disk: the file that grows and those before it. It
// belongs to one goroutine, except that interrupt may be called from any.
type file struct {
	path     string
	std      bool // path is standard output
	maxSize  int64
	maxAge   time.Duration
	maxTotal int64

	f       atomic.Pointer[os.File] // nil when closed
	regular bool                    // can be rotated
	fixed   bool                    // cannot be renamed: mounted on its own, say
	size    int64
	torn    bool      // the last line has no end
	birth   time.Time // of the first line
	checked time.Time // when path was last seen to name f
	old     []rotated // oldest first

	rotations, removed int64
}

// rotated is a file that was complete.
type rotated struct {
	path string
	time time.Time
	size int64
}

func newFile(path string, o Options) *file {
	return &file{path: path, std: path == "-", maxSize: o.MaxSize, maxAge: o.MaxAge, maxTotal: o.MaxTotal}
}

// write appends lines and returns how many of their bytes stand in the journal
// as whole lines. After an error the file is closed; the next write opens it
// again. Without lines it only does what is due.
func (f *file) write(lines []byte) (n int, err error) {
	if err := f.ready(0); err != nil {
		return 0, err
	}
	for n < len(lines) {
		if err := f.ready(int64(bytes.IndexByte(lines[n:], '\n') + 1)); err != nil {
			return n, err
		}
		whole, err := f.append(f.fit(lines[n:]))
		n += whole
		if err != nil {
			f.close()
			return n, err
		}
	}
	return n, nil
}

// ready makes room for a line of n bytes.
func (f *file) ready(n int64) error {
	if f.f.Load() == nil || f.moved() {
		if err := f.open(); err != nil {
			return err
		}
	}
	if f.full(n) {
		if err := f.rotate(); err != nil {
			return err
		}
	}
	if f.torn && n > 0 {
		return f.mend()
	}
	return nil
}

// full reports whether the file must be rotated before a line of n bytes.
func (f *file) full(n int64) bool {
	if f.torn {
		n++
	}
	if !f.regular || f.size == 0 {
		return false
	}
	d, ok := f.untilOld()
	return f.size+n > f.limit() || ok && d <= 0
}

// limit is how large the file may grow. One that cannot be renamed grows to the
// cap of all files, because lines in one file are better than none.
func (f *file) limit() int64 {
	if f.fixed {
		return f.maxTotal
	}
	return f.maxSize
}

// mend ends the torn line.
func (f *file) mend() error {
	if err := f.prune(1); err != nil {
		return err
	}
	if _, err := f.f.Load().Write([]byte{'\n'}); err != nil {
		f.close()
		return err
	}
	f.size++
	f.torn = false
	return nil
}

// fit returns as many whole lines, at least one, as the file has room for.
func (f *file) fit(lines []byte) []byte {
	room := f.limit() - f.size
	if !f.regular || room >= int64(len(lines)) {
		return lines
	}
	first := bytes.IndexByte(lines, '\n') + 1
	return lines[:max(first, bytes.LastIndexByte(lines[:max(room, 0)], '\n')+1)]
}

// append writes lines and returns how many of their bytes are whole lines in
// the file. A torn line is cut off if the disk still lets us.
func (f *file) append(lines []byte) (whole int, err error) {
	if err := f.prune(int64(len(lines))); err != nil {
		return 0, err
	}
	if f.size == 0 {
		f.birth = time.Now()
	}
	n, err := f.f.Load().Write(lines)
	f.size += int64(n)
	if err == nil {
		return n, nil
	}
	whole = bytes.LastIndexByte(lines[:n], '\n') + 1
	f.torn = n > whole
	if f.torn && f.regular && f.f.Load().Truncate(f.size-int64(n-whole)) == nil {
		f.size -= int64(n - whole)
		f.torn = false
	}
	return whole, err
}

// open opens or begins the file at path and takes stock.
func (f *file) open() error {
	f.close()
	if f.std {
		f.f.Store(os.Stdout)
		return nil
	}
	if p, err := filepath.EvalSymlinks(f.path); err == nil {
		f.path = p // a rotation renames the file, not the link to it
	}
	g, regular, err := openFile(f.path)
	if err != nil {
		return err
	}
	f.f.Store(g)
	f.regular, f.size, f.torn, f.checked = regular, 0, false, time.Now()
	if !regular {
		return nil
	}
	if err = lock(g); err == nil {
		err = f.survey(g)
	}
	if err != nil {
		f.close()
	}
	return err
}

func openFile(path string) (f *os.File, regular bool, err error) {
	flags := os.O_RDWR | os.O_APPEND | os.O_CREATE // read, to see whether the last line is torn
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		flags = os.O_WRONLY // a FIFO that we could read would never have us wait for a reader
	}
	f, err = os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, false, err
	}
	return f, flags&os.O_CREATE != 0, nil
}

// survey learns what is in g, and which files were before it.
func (f *file) survey(g *os.File) error {
	fi, err := g.Stat()
	if err != nil {
		return err
	}
	f.size = fi.Size()
	if f.size > 0 {
		var last [1]byte
		if _, err := g.ReadAt(last[:], f.size-1); err != nil {
			return err
		}
		f.torn = last[0] != '\n'
		f.birth = birth(g, fi)
	}
	f.old, err = list(f.path)
	return err
}

// birth returns the time of the first turn in g, or of its last change if the
// first line is no turn.
func birth(g *os.File, fi fs.FileInfo) time.Time {
	for t, err := range Read(io.NewSectionReader(g, 0, fi.Size())) {
		if err != nil || t.Time.IsZero() {
			break
		}
		return t.Time
	}
	return fi.ModTime()
}

// moved reports whether somebody renamed or deleted the file.
func (f *file) moved() bool {
	if !f.regular || time.Since(f.checked) < checkEvery {
		return false
	}
	f.checked = time.Now()
	there, err := os.Stat(f.path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	ours, err := f.f.Load().Stat()
	return err == nil && !os.SameFile(there, ours)
}

// untilOld returns how long it is until the file must be rotated for its age.
func (f *file) untilOld() (time.Duration, bool) {
	if f.fixed || f.maxAge == 0 || f.size == 0 || !f.regular || f.f.Load() == nil {
		return 0, false
	}
	return time.Until(f.birth.Add(f.maxAge)), true
}

// rotate renames the file and begins another.
func (f *file) rotate() error {
	now := time.Now().UTC()
	if n := len(f.old); n > 0 && !now.After(f.old[n-1].time) {
		now = f.old[n-1].time.Add(1) // the clock went back; the order of names is that of turns
	}
	f.close()
	err := os.Rename(f.path, rotatedName(f.path, now))
	switch {
	case err == nil:
		f.fixed = false
		f.rotations++
	case f.fixed:
		return err
	default:
		f.fixed = true
	}
	return f.open()
}

// prune deletes the oldest files until n more bytes are within the cap.
func (f *file) prune(n int64) error {
	if !f.regular {
		return nil
	}
	total := f.size + n
	for _, r := range f.old {
		total += r.size
	}
	for total > f.maxTotal && len(f.old) > 0 {
		if err := os.Remove(f.old[0].path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= f.old[0].size
		f.old = f.old[1:]
		f.removed++
	}
	return nil
}

func (f *file) close() {
	if g := f.f.Swap(nil); g != nil && !f.std {
		g.Close() // every byte that counts was written and checked
	}
}

// interrupt ends a write that hangs, where the kernel allows it (pipes, not disks).
func (f *file) interrupt() {
	if g := f.f.Load(); g != nil {
		g.SetWriteDeadline(time.Unix(1, 0))
	}
}

// Files returns the paths that hold the journal at path, in the order in which
// they were written; the last is path itself, if it is there.
func Files(path string) ([]string, error) {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		path = p
	}
	old, err := list(path)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, r := range old {
		paths = append(paths, r.path)
	}
	if _, err := os.Stat(path); err == nil {
		paths = append(paths, path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return paths, nil
}

// list returns the rotated files of the journal at path, oldest first.
func list(path string) ([]rotated, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var old []rotated
	for _, e := range entries {
		at, ok := rotatedAt(path, e.Name())
		if !ok {
			continue
		}
		fi, err := e.Info()
		if err != nil || !fi.Mode().IsRegular() {
			continue
		}
		old = append(old, rotated{filepath.Join(filepath.Dir(path), e.Name()), at, fi.Size()})
	}
	slices.SortFunc(old, func(a, b rotated) int { return a.time.Compare(b.time) })
	return old, nil
}

func rotatedName(path string, at time.Time) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "-" + at.Format(stamp) + ext
}

// rotatedAt returns the time in name, if it is that of a rotated file of path.
func rotatedAt(path, name string) (time.Time, bool) {
	ext := filepath.Ext(path)
	name, ok := strings.CutPrefix(name, strings.TrimSuffix(filepath.Base(path), ext)+"-")
	if !ok || !strings.HasSuffix(name, ext) {
		return time.Time{}, false
	}
	at, err := time.Parse(stamp, strings.TrimSuffix(name, ext))
	return at, err == nil
}
