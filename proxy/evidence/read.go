package evidence

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"turnwatch/proxy/turn"
)

// ErrChanged is a file that is no longer as it was written.
var ErrChanged = errors.New("it was changed after it was written: its SHA-256 is another")

// Find returns the folders of turns at path: itself, or those below it, the
// oldest turn first.
func Find(path string) ([]string, error) {
	var all []string
	err := filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && at != path && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir() && d.Name() == FileManifest:
			all = append(all, filepath.Dir(at))
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for evidence: %w", err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("look for evidence in %s: no %s in it or below it", path, FileManifest)
	}
	return all, nil
}

// Read reads the folder of one turn and refuses one that was changed.
func Read(dir string) (*Folder, error) {
	f, err := read(dir)
	if errors.Is(err, ErrChanged) { // or a turn was just being added to it
		f, err = read(dir)
	}
	return f, err
}

func read(dir string) (*Folder, error) {
	r := reader{dir: dir, sums: make(map[string]string)}
	f := &Folder{Dir: dir, Turn: new(turn.Turn)}
	r.readSums()
	r.json(FileManifest, &f.Manifest)
	if r.err == nil && f.Manifest.V > Version {
		r.err = fmt.Errorf("%s: written in version %d of the format, above %d, the highest known here", FileManifest, f.Manifest.V, Version)
	}
	r.json(FileTurn, f.Turn)
	r.json(FileWindows, &f.Windows)
	r.json(FileConfig, &f.Config)
	r.json(FileBatch, &f.Batch)
	f.Overlap = r.turns(FileOverlap)
	f.Request = r.said(f.Manifest.Request, FileRequestHead, FileRequestBody)
	f.Answer = r.said(f.Manifest.Answer, FileAnswerHead, FileAnswerBody)
	f.Answer.Marks = r.marks(len(f.Answer.Body))
	if r.err != nil {
		return nil, fmt.Errorf("read evidence %s: %w", dir, r.err)
	}
	return f, nil
}

// Redacted reports whether redaction masked something in a file.
func (f *Folder) Redacted(file string) bool {
	for _, name := range f.Manifest.Redacted {
		if name == file {
			return true
		}
	}
	return false
}

// reader reads files until one cannot be read.
type reader struct {
	dir  string
	sums map[string]string
	err  error
}

// readSums reads the hashes, in the form that sha256sum writes.
func (r *reader) readSums() {
	b, err := readPlain(filepath.Join(r.dir, FileSums))
	if err != nil {
		r.err = err
		return
	}
	for line := range strings.Lines(string(b)) {
		if sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok {
			r.sums[name] = sum
		}
	}
}

// file reads a file and holds it against its hash. One that is neither there
// nor in the hashes is nil.
func (r *reader) file(name string) []byte {
	if r.err != nil {
		return nil
	}
	want, listed := r.sums[name]
	b, err := readPlain(filepath.Join(r.dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !listed:
		return nil
	case err != nil:
		r.err = err
	case !listed:
		r.err = fmt.Errorf("%s: %s does not list it", name, FileSums)
	case want != sum(b):
		r.err = fmt.Errorf("%s: %w", name, ErrChanged)
	}
	return b
}

// readPlain reads a plain file. A pipe would never end, and what is linked may be
// anything.
func readPlain(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is no plain file", path)
	}
	return os.ReadFile(path)
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func (r *reader) json(name string, v any) {
	b := r.file(name)
	if r.err != nil {
		return
	}
	if err := json.Unmarshal(b, v); err != nil {
		r.err = fmt.Errorf("%s: %w", name, err)
	}
}

// turns reads journal lines.
func (r *reader) turns(name string) (all []*turn.Turn) {
	s := bufio.NewScanner(bytes.NewReader(r.file(name)))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		t := new(turn.Turn)
		if err := json.Unmarshal(s.Bytes(), t); err != nil && r.err == nil {
			r.err = fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, t)
	}
	return all
}

func (r *reader) said(p Part, head, body string) turn.Said {
	s := turn.Said{Head: r.file(head), Coding: p.Coding, Lost: p.Lost}
	if s.Lost == "" {
		if s.Body = r.file(body); s.Body == nil && r.err == nil {
			r.err = fmt.Errorf("%s: it is missing", body)
		}
	}
	return s
}

// marks reads when the pieces of an answer of n bytes came.
func (r *reader) marks(n int) (all []turn.Mark) {
	var pairs [][2]float64
	r.json(FileAnswerTimes, &pairs)
	at := 0
	for _, p := range pairs {
		off := int(p[0])
		if off < at || n > 0 && off >= n || p[1] < 0 {
			r.err = errors.Join(r.err, fmt.Errorf("%s: offset %v at %v ms cannot be true", FileAnswerTimes, p[0], p[1]))
			return nil
		}
		at = off
		all = append(all, turn.Mark{Off: off, At: time.Duration(p[1] * float64(time.Millisecond))})
	}
	return all
}
