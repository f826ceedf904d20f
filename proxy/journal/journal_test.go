package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"turnwatch/proxy/leaktest"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

func TestMain(m *testing.M) {
	if role := os.Getenv("JOURNAL_TEST_CHILD"); role != "" {
		child(role, os.Getenv("JOURNAL_TEST_PATH"))
		return
	}
	leaktest.Main(m)
}

// record returns turn n of a test.
func record(n int) *turn.Turn {
	return &turn.Turn{
		V: turn.Version, ID: fmt.Sprint(n), Time: time.Now(), Model: "m", Path: "/v1/chat/completions", Status: 200,
		Ending: validate.Complete, Verdict: validate.Verdict{Outcome: validate.Clean}, Arm: turn.Live, Number: n,
	}
}

func mustOpen(t *testing.T, path string, o Options) *Writer {
	t.Helper()
	w, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func mustClose(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// numbers returns the Number of every turn in the journal, and its errors.
func numbers(path string) (ns []int, errs []error) {
	for t, err := range ReadFiles(path) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ns = append(ns, t.Number)
	}
	return ns, errs
}

// settle waits, in a bubble, until the queued lines are written or refused.
func settle() {
	time.Sleep(2 * gatherFor)
	synctest.Wait()
}

// TestLinesAreGathered for one write, but not longer than until they are many.
func TestLinesAreGathered(t *testing.T) {
	f := func(o Options, lines, first int, at time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			w := mustOpen(t, filepath.Join(t.TempDir(), "turns.jsonl"), o)
			defer mustClose(t, w)
			begin := time.Now()
			for i := range lines {
				w.Finish(record(i))
			}
			for synctest.Wait(); w.Stats().Lines == 0; synctest.Wait() {
				time.Sleep(time.Millisecond)
			}
			if got := w.Stats().Lines; time.Since(begin) != at || got < int64(first) {
				t.Errorf("got %d lines after %v, want %d after %v", got, time.Since(begin), first, at)
			}
		})
	}
	f(Options{}, 1, 1, gatherFor)
	f(Options{}, 100, 100, gatherFor)
	f(Options{}, gatherBytes/100, 200, 0)
	f(Options{QueueLines: 200}, 120, 100, 0)
	f(Options{QueueBytes: 20 << 10}, 60, 40, 0)
}

// TestLinesBehindACrowdAreGathered as others are.
func TestLinesBehindACrowdAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := mustOpen(t, filepath.Join(t.TempDir(), "turns.jsonl"), Options{QueueLines: 20})
		defer mustClose(t, w)
		for i := range 12 {
			w.Finish(record(i))
		}
		settle()
		w.Finish(record(12))
		synctest.Wait()
		if got := w.Stats().Lines; got != 12 {
			t.Errorf("at once: got %d lines, want 12", got)
		}
	})
}

func upTo(n int) (ns []int) {
	for i := range n {
		ns = append(ns, i)
	}
	return ns
}

// holds fails unless the journal holds exactly the turns want, in order.
func holds(t *testing.T, path string, want []int) {
	t.Helper()
	if got, errs := numbers(path); !slices.Equal(got, want) || errs != nil {
		t.Errorf("journal holds %v (errors %v), want %v", got, errs, want)
	}
}

// await fails the test unless cond becomes true.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(40 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func TestConcurrentTurnsEachGetALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	w := mustOpen(t, path, Options{MaxSize: 20_000})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				w.Finish(record(g*100 + i))
			}
		})
	}
	wg.Wait()
	mustClose(t, w)
	got, errs := numbers(path)
	slices.Sort(got)
	if !slices.Equal(got, upTo(800)) || errs != nil {
		t.Errorf("got %d turns, errors %v; want 800 and none", len(got), errs)
	}
	if s := w.Stats(); s.Lines != 800 || s.QueuedLines != 0 || s.QueuedBytes != 0 || s.Rotations == 0 || s.Errors != 0 {
		t.Errorf("got %+v, want 800 lines and rotations", s)
	}
}

func TestFilesAreForTheOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new.jsonl")
	w := mustOpen(t, path, Options{MaxSize: 500})
	w.Finish(record(0))
	w.Finish(record(1))
	mustClose(t, w)
	paths, err := Files(path)
	if len(paths) != 2 || err != nil {
		t.Fatalf("got files %v (%v), want 2", paths, err)
	}
	old := filepath.Join(dir, "old.jsonl")
	if err := errors.Join(os.WriteFile(old, nil, 0o640), os.Chmod(old, 0o640)); err != nil { // whatever the umask
		t.Fatal(err)
	}
	mustClose(t, mustOpen(t, old, Options{}))
	for path, want := range map[string]os.FileMode{paths[0]: 0o600, paths[1]: 0o600, old: 0o640} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: got mode %v (%v), want %v", path, fi.Mode(), err, want)
		}
	}
}

func TestTurnMayChangeAfterFinish(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := mustOpen(t, path, Options{})
	r := record(0)
	for i := range 200 {
		r.Number = i
		w.Finish(r)
		r.Number = -1
	}
	mustClose(t, w)
	holds(t, path, upTo(200))
}

func TestTurnAfterCloseIsCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := mustOpen(t, path, Options{})
	w.Finish(record(0))
	mustClose(t, w)
	w.Finish(record(1))
	mustClose(t, w)
	holds(t, path, upTo(1))
	if got := w.Stats().Dropped[turn.DropJournalError]; got != 1 {
		t.Errorf("got %d dropped, want 1", got)
	}
}

func TestLongLineIsDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := mustOpen(t, path, Options{})
	long := record(7)
	long.Model = strings.Repeat("m", MaxLine)
	w.Finish(record(0))
	w.Finish(long)
	w.Finish(record(1))
	mustClose(t, w)
	holds(t, path, upTo(2))
	if got := w.Stats().Dropped[turn.DropTooLarge]; got != 1 {
		t.Errorf("got %d dropped, want 1", got)
	}
}

func TestLongestLineIsReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := mustOpen(t, path, Options{})
	r := record(0)
	r.Model = strings.Repeat("m", MaxLine-len(r.AppendJSON(nil)))
	w.Finish(r)
	mustClose(t, w)
	holds(t, path, upTo(1))
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	f := func(path string, o Options, want string) {
		t.Helper()
		if w, err := Open(path, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want an error with %q", w, err, want)
		}
	}
	f(dir, Options{}, "is a directory")
	f(filepath.Join(dir, "none", "j"), Options{}, "no such file")
	f(filepath.Join(dir, "j"), Options{MaxSize: 2000, MaxTotal: 1000}, "1000 bytes, less than one file's 2000")
	f(filepath.Join(dir, "j"), Options{MaxAge: -1}, "negative")
}

func TestStandardOutput(t *testing.T) {
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stdout := os.Stdout
	os.Stdout = pipe
	defer func() { os.Stdout = stdout }()
	w := mustOpen(t, "-", Options{MaxSize: 500, MaxAge: time.Nanosecond})
	for i := range 5 {
		w.Finish(record(i))
	}
	mustClose(t, w)
	if _, err := pipe.WriteString("still open\n"); err != nil {
		t.Errorf("standard output was closed: %v", err)
	}
	pipe.Close()
	var text bytes.Buffer
	text.ReadFrom(r)
	if got := strings.Count(text.String(), "\n"); got != 6 {
		t.Errorf("got %d lines, want 6", got)
	}
}

// logged is a log that can be read while it is written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), s)
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// A directory that goes away is a disk that fails and comes back.
func TestJournalGoesOnWhenTheDiskDoes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	path, log := filepath.Join(dir, "j"), &logged{}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := mustOpen(t, path, Options{QueueLines: 3, Logger: log.logger()})
		defer mustClose(t, w)
		w.Finish(record(0))
		time.Sleep(2 * time.Second)
		os.Rename(dir, dir+"-gone")
		for i := range 5 {
			w.Finish(record(1 + i))
			time.Sleep(2 * time.Second)
		}
		if s := w.Stats(); s.Lines != 1 || s.QueuedLines != 3 || s.Dropped[turn.DropJournalError] != 2 || s.Errors < 5 {
			t.Errorf("while the disk fails: got %+v, want 1 line, 3 queued, 2 dropped and errors", s)
		}
		os.Rename(dir+"-gone", dir)
		time.Sleep(2 * time.Second)
		w.Finish(record(4))
		settle()
		holds(t, path, upTo(5))
	})
	for text, want := range map[string]int{"cannot be written": 1, "written again": 1, "are missing": 1} {
		if got := log.count(text); got != want {
			t.Errorf("log says %q %d times, want %d:\n%s", text, got, want, log.b.String())
		}
	}
}

func BenchmarkFinish(b *testing.B) {
	w, err := Open(filepath.Join(b.TempDir(), "j"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	t := record(1)
	t.Findings = make([]validate.Finding, 1)
	t.Tags = map[string]turn.Tag{"batch": {Value: "17", Source: "poll"}, "index_dtype": {Value: "bf16", Source: "header"}}
	b.ReportAllocs()
	for i := 1; b.Loop(); i++ {
		if i%1024 == 0 {
			b.StopTimer()
			for w.queued() > 0 {
				time.Sleep(time.Millisecond)
			}
			b.StartTimer()
		}
		w.Finish(t)
	}
	if err := w.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	if n := w.Stats().dropped(); n != 0 {
		b.Fatalf("%d dropped", n)
	}
}

func (w *Writer) queued() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats.QueuedLines
}
