package journal

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// total returns the bytes in dir and fails if a file exceeds limit.
func total(t *testing.T, dir string, limit int64) (sum int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if fi.Size() > limit {
			t.Fatalf("%s has %d bytes, limit %d", e.Name(), fi.Size(), limit)
		}
		sum += fi.Size()
	}
	return sum
}

func TestFilesTogetherStayBelowTheCap(t *testing.T) {
	f := func(maxSize, maxTotal int64) {
		t.Helper()
		dir := t.TempDir()
		path := filepath.Join(dir, "turns.jsonl")
		synctest.Test(t, func(t *testing.T) {
			w := mustOpen(t, path, Options{MaxSize: maxSize, MaxTotal: maxTotal})
			defer mustClose(t, w)
			for i := range 120 {
				w.Finish(record(i))
				if i%7 != 0 {
					settle()
				}
				if got := total(t, dir, maxSize); got > maxTotal {
					t.Fatalf("after %d turns: got %d bytes, cap %d", i+1, got, maxTotal)
				}
			}
			settle()
			if s := w.Stats(); s.Lines != 120 || s.Rotations == 0 || s.Removed == 0 {
				t.Errorf("got %+v, want 120 lines, rotations and removals", s)
			}
		})
		got, errs := numbers(path)
		if n := len(got); errs != nil || n == 0 || !slices.Equal(got, upTo(120)[120-n:]) {
			t.Errorf("sizes %d, %d: got turns %v (%v), want the last ones in order", maxSize, maxTotal, got, errs)
		}
	}
	f(2000, 7000)
	f(2000, 2000)
}

func TestFileIsRotatedByAge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	synctest.Test(t, func(t *testing.T) {
		f := func(when string, want int) {
			t.Helper()
			settle()
			if paths, err := Files(path); len(paths) != want || err != nil {
				t.Errorf("%s: got files %v (%v), want %d", when, paths, err, want)
			}
		}
		w := mustOpen(t, path, Options{MaxAge: time.Hour})
		time.Sleep(3 * time.Hour)
		f("empty", 1)
		w.Finish(record(0))
		time.Sleep(59 * time.Minute)
		w.Finish(record(1))
		f("before its age", 1)
		mustClose(t, w)
		w = mustOpen(t, path, Options{MaxAge: time.Hour}) // the age is that of the file, not of the process
		f("reopened", 1)
		time.Sleep(time.Minute)
		f("at its age, idle", 2)
		time.Sleep(5 * time.Hour)
		w.Finish(record(2))
		f("the next one", 2)
		mustClose(t, w)
		holds(t, path, upTo(3))
	})
}

func TestClockThatGoesBackKeepsTheOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	future := rotatedName(path, time.Now().Add(24*time.Hour).UTC())
	if err := os.WriteFile(future, append(record(0).AppendJSON(nil), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	w := mustOpen(t, path, Options{MaxSize: 600})
	for i := range 8 {
		w.Finish(record(i + 1))
	}
	mustClose(t, w)
	holds(t, path, upTo(9))
}

// TestFileThatCannotBeRenamedGrowsToTheCap: a container may mount the file
// itself. Folders in the place of every name that a rotation would give stand
// for that here.
func TestFileThatCannotBeRenamedGrowsToTheCap(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "turns.jsonl")
	synctest.Test(t, func(t *testing.T) {
		for i := range 40 {
			name := rotatedName(path, time.Now().UTC().Add(time.Duration(i)*gatherFor))
			if err := os.Mkdir(name, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		w := mustOpen(t, path, Options{MaxSize: 2000, MaxTotal: 20000})
		for i := range 20 {
			w.Finish(record(i))
			settle()
		}
		if s := w.Stats(); s.Lines != 20 || s.Rotations != 0 {
			t.Errorf("got %+v, want 20 lines and no rotation", s)
		}
		mustClose(t, w)
	})
	fi, err := os.Stat(path)
	if err != nil || fi.Size() <= 2000 {
		t.Errorf("got %v (%v), want a file of more than 2000 bytes", fi, err)
	}
}

func TestFileThatSomebodyRenamedIsBegunAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	synctest.Test(t, func(t *testing.T) {
		w := mustOpen(t, path, Options{})
		defer mustClose(t, w)
		w.Finish(record(9))
		settle()
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		w.Finish(record(0))
		settle()
		holds(t, path, upTo(1))
		holds(t, path+".1", []int{9})
	})
}

func TestLinkStaysWhereItIs(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real.jsonl"), filepath.Join(t.TempDir(), "link")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	w := mustOpen(t, link, Options{MaxSize: 500})
	for i := range 3 {
		w.Finish(record(i))
	}
	mustClose(t, w)
	holds(t, link, upTo(3))
	if paths, err := Files(path); len(paths) != 3 || err != nil {
		t.Errorf("got files %v (%v), want 3 beside the file that the link names", paths, err)
	}
}

func TestTornLastLineIsEnded(t *testing.T) {
	f := func(size int64, torn string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "j.jsonl")
		whole := string(append(record(0).AppendJSON(nil), '\n'))
		if err := os.WriteFile(path, []byte(whole+torn), 0o600); err != nil {
			t.Fatal(err)
		}
		w := mustOpen(t, path, Options{MaxSize: size, MaxTotal: 10 * size})
		w.Finish(record(1))
		w.Finish(record(2))
		mustClose(t, w)
		got, errs := numbers(path)
		if !slices.Equal(got, upTo(3)) || len(errs) != 1 {
			t.Fatalf("got turns %v, errors %v; want 3 and 1", got, errs)
		}
		files, err := Files(path)
		want := (&LineError{File: files[0], Line: 2, Offset: int64(len(whole)), Err: ErrTorn}).Error()
		if errs[0].Error() != want || err != nil {
			t.Errorf("got %v, want %s", errs[0], want)
		}
		total(t, filepath.Dir(path), size)
	}
	line := string(record(1).AppendJSON(nil))
	f(1<<20, line[:len(line)/2])
	f(1<<20, "{")
	f(int64(2*len(line)+10), line[:len(line)-1])
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	f := func(path, name string, want bool) {
		t.Helper()
		if _, got := rotatedAt(path, name); got != want {
			t.Errorf("%s: %s is a rotated file: got %v, want %v", path, name, got, want)
		}
	}
	f("/d/j.jsonl", "j-20260301T123015.123456789Z.jsonl", true)
	f("/d/j.jsonl", "j-20260301T123015.123456789Z.jsonl.gz", false)
	f("/d/j.jsonl", "j.jsonl", false)
	f("/d/j.jsonl", "j-old.jsonl", false)
	f("/d/j.jsonl", "jj-20260301T123015.123456789Z.jsonl", false)
	f("/d/j.jsonl", "j-20260301T123015.123456789Z", false)
	f("/d/j", "j-20260301T123015.123456789Z", true)
	f("/d/j-a", "j-20260301T123015.123456789Z", false)
}

// TestLimitsMayBeChanged: of size, age and cap, with the next line.
func TestLimitsMayBeChanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "turns.jsonl")
	synctest.Test(t, func(t *testing.T) {
		w := mustOpen(t, path, Options{})
		defer mustClose(t, w)
		add := func(n, rotations, removed int64) {
			t.Helper()
			for range n {
				w.Finish(record(0))
				settle()
			}
			if s := w.Stats(); s.Rotations != rotations || s.Removed < removed || removed == 0 && s.Removed > 0 {
				t.Errorf("got %d files begun and %d removed, want %d and %d", s.Rotations, s.Removed, rotations, removed)
			}
		}
		set := func(o Options) {
			t.Helper()
			if err := w.SetLimits(o); err != nil {
				t.Fatal(err)
			}
			settle()
		}
		add(3, 0, 0)
		set(Options{MaxSize: 1 << 10, MaxTotal: 1 << 30})
		add(1, 1, 0)
		set(Options{MaxAge: time.Second})
		time.Sleep(2 * time.Second)
		add(0, 2, 0)
		set(Options{MaxSize: 900, MaxTotal: 900})
		add(1, 2, 1)
		if err := w.SetLimits(Options{MaxSize: 2, MaxTotal: 1}); err == nil {
			t.Error("a cap below the size: got no error")
		}
	})
}
