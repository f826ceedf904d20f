package evidence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// partial begins the name of a folder that is being written.
const partial = ".partial-"

// disk is where the folders are. It belongs to one goroutine.
type disk struct {
	dir   string
	max   int64
	total int64 // bytes in all folders, as far as is known
	write func(name string, b []byte) error
	held  *os.File // the folder, locked; nil before open
}

func newDisk(dir string, max int64) *disk {
	return &disk{dir: dir, max: max, write: func(name string, b []byte) error { return os.WriteFile(name, b, 0o600) }}
}

// open makes the folder, keeps other writers away until close, and clears away
// what a process that was killed left.
func (d *disk) open() error {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	var err error
	if d.held, err = lock(d.dir); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(d.dir, partial+"*"))
	for _, path := range left {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err == nil {
		_, err = d.list()
	}
	return err
}

func (d *disk) close() { d.held.Close() } // of nil nothing

// stored is a folder of ours.
type stored struct {
	path string
	size int64
}

// list finds the folders that are there, the oldest first, and weighs them.
func (d *disk) list() (all []stored, err error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, err
	}
	d.total = 0
	for _, e := range entries {
		path := filepath.Join(d.dir, e.Name())
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || !exists(filepath.Join(path, FileManifest)) {
			continue // not ours
		}
		size, err := weigh(path)
		if err != nil {
			return nil, err
		}
		all = append(all, stored{path, size})
		d.total += size
	}
	return all, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func weigh(path string) (n int64, err error) {
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n, err
}

// store writes a folder, after making room for it.
func (d *disk) store(id string, f files) (size, removed int64, err error) {
	size = f.size()
	if d.held == nil { // when the folder was to be opened the disk did not answer, or it was another's
		if err = d.open(); err != nil {
			return 0, 0, err
		}
	}
	if removed, err = d.prune(size); err != nil {
		return 0, removed, err
	}
	tmp := filepath.Join(d.dir, partial+id)
	if err = os.MkdirAll(tmp, 0o700); err == nil {
		for name, b := range f {
			if err = d.write(filepath.Join(tmp, name), b); err != nil {
				break
			}
		}
	}
	if err == nil {
		err = os.Rename(tmp, filepath.Join(d.dir, id))
	}
	if err != nil {
		return 0, removed, errors.Join(err, os.RemoveAll(tmp))
	}
	d.total += size
	return size, removed, nil
}

// spared is which part of the cap is made free when room has to be made: to find the
// oldest folders takes a look at each of them, which is not to be had for every new one.
const spared = 20

// prune deletes the oldest folders until there is room for size more bytes.
func (d *disk) prune(size int64) (removed int64, err error) {
	if d.total+size <= d.max {
		return 0, nil
	}
	all, err := d.list()
	if err != nil {
		return 0, err
	}
	if size > d.max {
		return 0, fmt.Errorf("write %d bytes: more than all folders together may have", size)
	}
	low := d.max - d.max/spared
	for _, s := range all {
		if d.total+size <= low {
			break
		}
		if err := os.RemoveAll(s.path); err != nil {
			return removed, err
		}
		d.total -= s.size
		removed++
	}
	return removed, nil
}

// extend adds lines to the file of turns that overlapped, after making room for
// them. A folder that is not there any more needs none.
func (d *disk) extend(id string, lines []byte) (removed int64, err error) {
	if removed, err = d.prune(int64(len(lines))); err == nil {
		err = d.append(id, lines)
	}
	return removed, err
}

func (d *disk) append(id string, lines []byte) error {
	dir := filepath.Join(d.dir, id)
	name, sums := filepath.Join(dir, FileOverlap), filepath.Join(dir, FileSums)
	was, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	listed, err := os.ReadFile(sums)
	if err != nil {
		return err
	}
	now := slices.Concat(was, lines)
	listed = []byte(strings.Replace(string(listed), sum(was)+"  "+FileOverlap, sum(now)+"  "+FileOverlap, 1))
	if err := d.replace(name, now); err != nil {
		return err
	}
	d.total += int64(len(lines))
	return d.replace(sums, listed)
}

// replace writes a file anew so that it is there whole at every moment.
func (d *disk) replace(name string, b []byte) error {
	tmp := filepath.Join(filepath.Dir(name), "."+filepath.Base(name))
	if err := d.write(tmp, b); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, name)
}
