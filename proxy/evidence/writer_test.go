package evidence

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
	"syscall"
	"testing"
	"time"

	"turnwatch/proxy/leaktest"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const patience = 60 * time.Second

// await waits until ok.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func closed(t *testing.T, w *Writer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// corrupted is a turn with a body of so many bytes, from one moment to another.
func corrupted(id string, size int, from time.Time, took time.Duration) *turn.Turn {
	body := append([]byte(`{"model":"m","x":"`), bytes.Repeat([]byte("a"), size)...)
	arg := int64(3)
	return &turn.Turn{V: turn.Version, ID: id, Time: from.UTC(), DurationMS: float64(took) / 1e6, Path: "/v1/chat/completions",
		Verdict: validate.Verdict{Outcome: validate.Corrupted, Findings: []validate.Finding{
			{Kind: "schema_value", Offset: 12, ArgOffset: &arg, AtMS: 1.5}, {Kind: "args_schema_violation", Offset: 12, AtMS: 1.5}}},
		Tags:        map[string]turn.Tag{"batch": {Value: "3", Source: "facts"}, "index_dtype": {Value: "bf16", Source: "header"}},
		Fingerprint: "1a2b3c4d",
		Capture: &turn.Capture{
			Request: turn.Said{Head: []byte("POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nTE: trailers\r\n\r\n"), Body: append(body, `"}`...)},
			Answer: turn.Said{Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"), Body: []byte("data: {\"choices\":[]}\n\ndata: [DONE]\n\n"),
				Marks: []turn.Mark{{Off: 0}, {Off: 22, At: 1500 * time.Microsecond}}},
			Loads: []turn.Load{{Source: "own", Batch: 2}},
		}}
}

func clean(id string, from time.Time, took time.Duration) *turn.Turn {
	return &turn.Turn{V: turn.Version, ID: id, Time: from.UTC(), DurationMS: float64(took) / 1e6, Verdict: validate.Verdict{Outcome: validate.Clean}}
}

// TestFolderHoldsWhatWasSaid, and reading gives it back.
func TestFolderHoldsWhatWasSaid(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(dir, Options{Bodies: true, By: "turnwatch v1"})
	if err != nil {
		t.Fatal(err)
	}
	in := corrupted("a1", 100, time.Now(), time.Second)
	w.Finish(in)
	w.Finish(clean("a2", time.Now(), time.Second))
	closed(t, w)
	dirs, err := Find(dir)
	if err != nil || !slices.Equal(dirs, []string{filepath.Join(dir, "a1")}) {
		t.Fatalf("folders: got %v, %v", dirs, err)
	}
	f, err := Read(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	c := in.Capture
	switch {
	case !bytes.Equal(f.Request.Body, c.Request.Body) || !bytes.Equal(f.Request.Head, c.Request.Head):
		t.Errorf("request: got %s%s", f.Request.Head, f.Request.Body)
	case !bytes.Equal(f.Answer.Body, c.Answer.Body) || !bytes.Equal(f.Answer.Head, c.Answer.Head) || !slices.Equal(f.Answer.Marks, c.Answer.Marks):
		t.Errorf("answer: got %s%s %v", f.Answer.Head, f.Answer.Body, f.Answer.Marks)
	case f.Manifest.Request.SHA256 != sum(c.Request.Body) || f.Manifest.By != "turnwatch v1" || len(f.Manifest.Redacted) > 0:
		t.Errorf("manifest: got %+v", f.Manifest)
	case f.Turn.ID != "a1" || len(f.Turn.Findings) != 2 || f.Config.Fingerprint != "1a2b3c4d":
		t.Errorf("turn: got %+v, %+v", f.Turn, f.Config)
	case f.Config.Tags["index_dtype"].Value != "bf16" || f.Batch.Tags["batch"].Value != "3" || len(f.Batch.Timeline) != 1:
		t.Errorf("configuration and batch: got %+v, %+v", f.Config, f.Batch)
	case len(f.Windows) != 1 || !slices.Equal(f.Windows[0].Kinds, []string{"schema_value", "args_schema_violation"}) || f.Windows[0].Text != string(c.Answer.Body):
		t.Errorf("windows: got %+v", f.Windows)
	case len(f.Overlap) != 1 || f.Overlap[0].ID != "a2":
		t.Errorf("overlap: got %+v", f.Overlap)
	}
}

// TestWithoutBodiesThereIsNone, but their hashes, times and shape.
func TestWithoutBodiesThereIsNone(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := corrupted("a1", 100, time.Now(), time.Second)
	w.Finish(in)
	closed(t, w)
	f, err := Read(filepath.Join(dir, "a1"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Request.Lost != LostBodiesOff || f.Answer.Lost != LostBodiesOff || f.Request.Body != nil || f.Answer.Body != nil {
		t.Errorf("bodies: got %+v and %+v", f.Request, f.Answer)
	}
	if f.Manifest.Answer.SHA256 != sum(in.Capture.Answer.Body) || len(f.Answer.Marks) != 2 || !f.Windows[0].Masked {
		t.Errorf("got %+v, marks %v, windows %+v", f.Manifest, f.Answer.Marks, f.Windows)
	}
}

// TestWhatWasNotKeptIsSaid.
func TestWhatWasNotKeptIsSaid(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(dir, Options{Bodies: true, MaxTurn: 1000})
	if err != nil {
		t.Fatal(err)
	}
	w.Finish(corrupted("large", 2000, time.Now(), time.Second))
	none := corrupted("none", 1, time.Now(), time.Second)
	none.Capture = nil
	w.Finish(none)
	lost := corrupted("lost", 1, time.Now(), time.Second)
	lost.Capture.Answer = turn.Said{Head: lost.Capture.Answer.Head, Lost: turn.DropEvidenceMemory}
	w.Finish(lost)
	closed(t, w)
	f := func(id string, request, answer turn.Drop) {
		t.Helper()
		got, err := Read(filepath.Join(dir, id))
		if err != nil {
			t.Fatal(err)
		}
		if got.Manifest.Request.Lost != request || got.Manifest.Answer.Lost != answer {
			t.Errorf("%s: got %q and %q, want %q and %q", id, got.Manifest.Request.Lost, got.Manifest.Answer.Lost, request, answer)
		}
	}
	f("large", turn.DropTooLarge, "")
	f("none", LostNoCapture, LostNoCapture)
	f("lost", "", turn.DropEvidenceMemory)
}

// TestTurnsThatEndLaterAreAdded to the folders of those that they overlapped.
func TestTurnsThatEndLaterAreAdded(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(dir, Options{Bodies: true})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	w.Finish(clean("before", now.Add(-2*time.Second), time.Second))
	w.Finish(clean("early", now.Add(-time.Second), 2*time.Second))
	w.Finish(corrupted("a1", 1, now, 5*time.Second))
	w.Finish(clean("late", now.Add(4*time.Second), 20*time.Second))
	w.Finish(clean("after", now.Add(6*time.Second), time.Second))
	ids := func() (all []string) {
		f, err := Read(filepath.Join(dir, "a1"))
		if err != nil {
			return nil
		}
		for _, o := range f.Overlap {
			all = append(all, o.ID)
		}
		return all
	}
	await(t, "the later turn", func() bool { return slices.Equal(ids(), []string{"early", "late"}) })
	closed(t, w)
	if got := ids(); !slices.Equal(got, []string{"early", "late"}) {
		t.Errorf("overlap: got %v", got)
	}
}

// TestFoldersTogetherStayBelowTheCap: the oldest go, and nothing that is not
// ours.
func TestFoldersTogetherStayBelowTheCap(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"theirs/x", ".partial-old/manifest.json"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700), os.WriteFile(filepath.Join(dir, name), make([]byte, 50<<10), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	const limit = 60 << 10
	for round := range 2 { // the second finds what the first left
		w, err := Open(dir, Options{Bodies: true, MaxTotal: limit, MaxTurn: 20 << 10})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			w.Finish(corrupted(fmt.Sprintf("a%d%d", round, i), 10<<10, time.Now().Add(time.Duration(i)*time.Hour), time.Millisecond))
		}
		closed(t, w)
		if got := w.Stats(); got.Folders != 10 || got.Removed < 5 {
			t.Errorf("got %+v", got)
		}
	}
	d := newDisk(dir, limit)
	all, err := d.list()
	if err != nil || d.total > limit || len(all) < 3 || filepath.Base(all[len(all)-1].path) != "a19" {
		t.Errorf("got %d bytes in %v, %v", d.total, all, err)
	}
	if !exists(filepath.Join(dir, "theirs", "x")) || exists(filepath.Join(dir, ".partial-old")) {
		t.Error("what is not ours is gone, or what a dead process left is not")
	}
}

// TestRoomIsMadeForMoreThanOne: of a thousand folders the oldest are looked for once in
// many.
func TestRoomIsMadeForMoreThanOne(t *testing.T) {
	const limit = 1000
	d := newDisk(t.TempDir(), limit)
	if err := d.open(); err != nil {
		t.Fatal(err)
	}
	f, made := files{FileManifest: make([]byte, 10)}, 0
	for i := range 300 {
		_, removed, err := d.store(fmt.Sprintf("a%03d", i), f)
		if err != nil {
			t.Fatal(err)
		}
		if removed > 0 {
			made++
		}
		if d.total > limit {
			t.Fatalf("got %d bytes, want %d at most", d.total, limit)
		}
	}
	if made == 0 || made > 50 {
		t.Errorf("got room made %d times for 200 folders beyond the cap, want it seldom", made)
	}
}

// TestLinesThatComeLateStayBelowTheCap too.
func TestLinesThatComeLateStayBelowTheCap(t *testing.T) {
	const limit = 40 << 10
	d := newDisk(t.TempDir(), limit)
	if err := d.open(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a1", "a2", "a3"} {
		f := files{FileManifest: []byte("{}"), FileOverlap: make([]byte, 12<<10)}
		f[FileSums] = f.sums()
		if _, _, err := d.store(id, f); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := d.extend("a3", make([]byte, 8<<10))
	if err != nil || removed != 1 {
		t.Errorf("got %d folders removed, %v, want 1: the oldest", removed, err)
	}
	if left, err := d.list(); err != nil || d.total > limit || len(left) != 2 {
		t.Errorf("got %d bytes in %v, %v, want two folders within %d", d.total, left, err, limit)
	}
}

// TestFullDiskCostsFolders, each counted, and is told once.
func TestFullDiskCostsFolders(t *testing.T) {
	dir := t.TempDir()
	d := newDisk(dir, 1<<30)
	write := d.write
	full := true
	d.write = func(name string, b []byte) error {
		if full && strings.HasSuffix(name, FileAnswerBody) {
			return &os.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
		}
		return write(name, b)
	}
	var log bytes.Buffer
	o, err := Options{Bodies: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	w, err := start(d, &masker{}, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		w.Finish(corrupted(fmt.Sprint("a", i), 1, time.Now(), time.Second))
	}
	await(t, "five drops", func() bool { return w.Stats().Dropped[turn.DropEvidenceError] == 5 })
	full = false
	w.Finish(corrupted("b", 1, time.Now(), time.Second))
	closed(t, w)
	if got := w.Stats(); got.Folders != 1 || got.Queued != 0 {
		t.Errorf("after it was full: got %+v", got)
	}
	if n := strings.Count(log.String(), "no space left"); n != 1 {
		t.Errorf("told %d times:\n%s", n, &log)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(left)+len(hidden) != 1 {
		t.Errorf("left: %v %v", left, hidden)
	}
}

// TestDiskThatHangsDelaysNobody: turns are dropped and counted, and closing
// does not wait for it.
func TestDiskThatHangsDelaysNobody(t *testing.T) {
	d := newDisk(t.TempDir(), 1<<30)
	hang, hanging := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d.write = func(string, []byte) error {
		once.Do(func() { close(hanging) })
		<-hang
		return errors.New("gone")
	}
	o, err := Options{QueueBytes: 200 << 10}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	w, err := start(d, &masker{}, o)
	if err != nil {
		t.Fatal(err)
	}
	const n = 30
	for i := range n {
		w.Finish(corrupted(fmt.Sprint("a", i), 10<<10, time.Now(), time.Second))
	}
	<-hanging
	st := w.Stats()
	if st.Dropped[turn.DropEvidenceQueue] == 0 || st.Queued > 200<<10 {
		t.Errorf("while it hangs: got %+v", st)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Close(ctx); err == nil || !strings.Contains(err.Error(), "have no folder") {
		t.Errorf("close: got %v", err)
	}
	st = w.Stats()
	if lost := st.Dropped[turn.DropEvidenceQueue] + st.Dropped[turn.DropEvidenceError]; lost != n {
		t.Errorf("dropped: got %d of %d", lost, n)
	}
	w.Finish(corrupted("straggler", 1, time.Now(), time.Second))
	close(hang)
	<-w.done
}

// TestTurnsThatAreGivenUpAreCounted, though none of them is being written.
func TestTurnsThatAreGivenUpAreCounted(t *testing.T) {
	w := &Writer{opts: Options{QueueBytes: 1 << 20}, disk: newDisk("d", 1), queue: make(chan *job, 3)}
	w.stats.Dropped = map[turn.Drop]int64{}
	for i := range 3 {
		w.Finish(corrupted(fmt.Sprint("a", i), 1, time.Now(), time.Second))
	}
	w.giveUp(errors.New("the test"))
	if got := w.Stats().Dropped[turn.DropEvidenceError]; got != 3 || !strings.Contains(w.lastErr.Error(), "3 turns") {
		t.Errorf("got %d and %v, want 3", got, w.lastErr)
	}
}

// TestFolderThatCannotBeMadeIsAnError.
func TestFolderThatCannotBeMadeIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "e"), Options{}); err == nil {
		t.Error("below a file: got no error")
	}
	for _, o := range []Options{{MaxTotal: -1}, {MaxTotal: 1, MaxTurn: 2}, {Paths: []string{"a"}}} {
		if _, err := Open(t.TempDir(), o); err == nil {
			t.Errorf("%+v: got no error", o)
		}
	}
}

// TestChangedFolderIsRefused, whatever was changed.
func TestChangedFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(dir, Options{Bodies: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Finish(corrupted("a", 1, time.Now(), time.Second))
	closed(t, w)
	names, err := filepath.Glob(filepath.Join(dir, "a", "*"))
	if err != nil || len(names) != 12 {
		t.Fatalf("files: got %v, %v", names, err)
	}
	for _, name := range names {
		was, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, append(bytes.Clone(was), ' '), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = Read(filepath.Join(dir, "a"))
		if sums := strings.HasSuffix(name, FileSums); (err == nil) != sums || err != nil && !errors.Is(err, ErrChanged) {
			t.Errorf("%s changed: got %v", filepath.Base(name), err)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if _, err = Read(filepath.Join(dir, "a")); err == nil {
			t.Errorf("%s removed: got no error", filepath.Base(name))
		}
		if err := os.WriteFile(name, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A folder that somebody else made may hold pipes, which never end, and links.
func TestOnlyPlainFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(dir, Options{Bodies: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Finish(corrupted("a", 1, time.Now(), time.Second))
	closed(t, w)
	name, away := filepath.Join(dir, "a", FileAnswerBody), filepath.Join(dir, "away")
	if err := os.Rename(name, away); err != nil {
		t.Fatal(err)
	}
	f := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(filepath.Join(dir, "a")); err == nil || !strings.Contains(err.Error(), "no plain file") {
			t.Errorf("%s: got %v, want that it is no plain file", what, err)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	f("link", os.Symlink(away, name))
	f("pipe", syscall.Mkfifo(name, 0o600))
	f("folder", os.Mkdir(name, 0o700))
}

func TestFilesAreForTheOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	w, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Finish(corrupted("a", 1, time.Now(), time.Second))
	closed(t, w)
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkFinishClean is what a clean turn costs the finisher.
func BenchmarkFinishClean(b *testing.B) {
	w, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close(context.Background())
	t := clean("01m8mhgahdyke0y3rskbnz0gse", time.Now(), time.Second)
	t.Tags = map[string]turn.Tag{"batch": {Value: "3", Source: "facts"}, "index_dtype": {Value: "bf16", Source: "header"}}
	b.ReportAllocs()
	for b.Loop() {
		w.Finish(t)
	}
}

// TestLimitsMayBeChanged: of a turn and of all folders, for those to come.
func TestLimitsMayBeChanged(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(dir, Options{Bodies: true})
	if err != nil {
		t.Fatal(err)
	}
	add := func(i int) {
		w.Finish(corrupted(fmt.Sprintf("a%d", i), 10<<10, time.Now(), time.Millisecond))
		for begin := time.Now(); w.Stats().Folders < int64(i+1) && time.Since(begin) < 30*time.Second; time.Sleep(time.Millisecond) {
		}
	}
	set := func(o Options) {
		if err := w.SetLimits(o); err != nil {
			t.Fatal(err)
		}
	}
	add(0)
	set(Options{MaxTurn: 5 << 10})
	add(1)
	set(Options{MaxTurn: 5 << 10, MaxTotal: 10 << 10})
	add(2)
	if err := w.SetLimits(Options{MaxTotal: 1, MaxTurn: 2}); err == nil {
		t.Error("a cap below a turn: got no error")
	}
	closed(t, w)
	if exists(filepath.Join(dir, "a0")) || exists(filepath.Join(dir, "a1", FileRequestBody)) || !exists(filepath.Join(dir, "a2")) || w.Stats().Removed == 0 {
		t.Errorf("got %+v: the oldest is there, or a body that is too large", w.Stats())
	}
}
