//go:build unix

package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"turnwatch/proxy/turn"
)

// child is what the test binary does when a test runs it as a process that
// shall die or be limited.
func child(role, path string) {
	w, err := Open(path, Options{MaxSize: 1 << 20, MaxTotal: 1 << 24})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	switch role {
	case "forever":
		for i := 0; ; i++ {
			for w.queued() > 100 {
			}
			w.Finish(record(i))
		}
	case "limited":
		limited(w)
	}
}

// limited writes 100 turns while the kernel lets files grow to 10,000 bytes,
// then, allowed more, until all are written.
func limited(w *Writer) {
	signal.Ignore(unix.SIGXFSZ)
	var limit unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_FSIZE, &limit)
	unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 10_000, Max: limit.Max})
	for i := range 100 {
		w.Finish(record(i))
	}
	for w.Stats().Errors == 0 {
		time.Sleep(time.Millisecond)
	}
	fmt.Printf("written %d queued %d dropped %d\n", w.Stats().Lines, w.queued(), w.Stats().dropped())
	unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)
	fmt.Println(w.Close(context.Background()))
}

func command(role, path string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "JOURNAL_TEST_CHILD="+role, "JOURNAL_TEST_PATH="+path)
	return cmd
}

func TestDeathOfTheProcessTearsAtMostTheLastLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	for life := range 3 {
		cmd := command("forever", path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the child writes", func() bool {
			fi, err := os.Stat(path)
			return err == nil && fi.Size() > 200_000
		})
		cmd.Process.Kill()
		cmd.Wait()
		got, errs := numbers(path)
		if len(errs) > life+1 || !slices.Contains(got, 100) {
			t.Fatalf("life %d: got %d turns, errors %v; want at most one torn line a life", life, len(got), errs)
		}
		for _, err := range errs {
			if !errors.Is(err, ErrTorn) {
				t.Errorf("life %d: got %v, want only torn lines", life, err)
			}
		}
	}
	w := mustOpen(t, path, Options{})
	w.Finish(record(-7))
	mustClose(t, w)
	if got, _ := numbers(path); got[len(got)-1] != -7 {
		t.Errorf("got %d as the last turn, want -7", got[len(got)-1])
	}
}

func TestShortWriteLosesNoLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	out, err := command("limited", path).Output()
	if err != nil || !bytes.Contains(out, []byte("dropped 0\n<nil>\n")) || bytes.Contains(out, []byte("written 100 ")) {
		t.Errorf("the child said %q (%v), want lines kept back, none dropped", out, err)
	}
	holds(t, path, upTo(100))
}

func TestFullDiskCostsCountedLines(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Fatalf("no full disk to test with: %v", err)
	}
	w := mustOpen(t, "/dev/full", Options{QueueLines: 10})
	for i := range 25 {
		w.Finish(record(i))
	}
	await(t, "the disk refuses", func() bool { return w.Stats().Errors > 0 })
	err := w.Close(context.Background())
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "10 turns are not written") {
		t.Errorf("got %v, want no space for 10 turns", err)
	}
	if s := w.Stats(); s.Lines != 0 || s.dropped() != 25 || s.QueuedLines != 0 {
		t.Errorf("got %+v, want 25 dropped", s)
	}
}

// fifo makes a FIFO: a disk that hangs until somebody reads it.
func fifo(t *testing.T) (path string) {
	path = filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func reader(t *testing.T, path string) *os.File {
	t.Helper()
	r, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDiskThatDoesNotAnswerOnOpen(t *testing.T) {
	path, log := fifo(t), &logged{}
	w := mustOpen(t, path, Options{QueueLines: 10, Logger: log.logger()})
	for i := range 15 {
		w.Finish(record(i))
	}
	if s := w.Stats(); s.QueuedLines != 10 || s.Dropped[turn.DropJournalQueue] != 5 {
		t.Errorf("got %+v, want 10 queued and 5 dropped", s)
	}
	await(t, "the log says so", func() bool { return log.count("does not answer") == 1 && log.count("are missing") == 1 })
	r := reader(t, path)
	defer r.Close()
	await(t, "the journal goes on", func() bool { return w.Stats().Lines == 10 })
	mustClose(t, w)
	var got int
	for _, err := range Read(r) {
		if err != nil {
			t.Error(err)
		}
		got++
	}
	if got != 10 {
		t.Errorf("got %d turns, want 10", got)
	}
}

func TestDiskThatHangsDelaysNobody(t *testing.T) {
	path := fifo(t)
	r := reader(t, path)
	defer r.Close()
	w := mustOpen(t, path, Options{QueueBytes: 100_000})
	const n = 2000 // far more than a pipe and the queue hold
	for i := range n {
		w.Finish(record(i)) // would hang the test
	}
	s := w.Stats()
	if s.Dropped[turn.DropJournalQueue] == 0 || s.QueuedBytes > 100_000 {
		t.Errorf("got %+v, want drops and at most 100000 bytes queued", s)
	}
	read := make(chan int)
	go func() {
		got := 0
		for _, err := range Read(r) {
			if err != nil {
				t.Error(err)
			}
			got++
		}
		read <- got
	}()
	mustClose(t, w)
	if got, dropped := <-read, w.Stats().dropped(); int64(got)+dropped != n || got == 0 {
		t.Errorf("got %d lines and %d dropped, want %d together", got, dropped, n)
	}
}

func TestCloseDoesNotHangWithTheDisk(t *testing.T) {
	path := fifo(t)
	r := reader(t, path)
	defer r.Close()
	w := mustOpen(t, path, Options{})
	for i := range 1000 {
		w.Finish(record(i))
	}
	await(t, "a batch is on its way", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.stats.QueuedBytes > int64(len(w.queue))
	})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := w.Close(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
	if s := w.Stats(); s.QueuedLines != 0 || s.Lines+s.dropped() != 1000 {
		t.Errorf("got %+v, want each of 1000 lines written or dropped", s)
	}
	<-w.done // the deadline ends a write to a pipe
	w.Close(context.Background())
}

func TestReaderThatLeavesAndComesBack(t *testing.T) {
	path := fifo(t)
	r := reader(t, path)
	w := mustOpen(t, path, Options{})
	w.Finish(record(0))
	await(t, "the line is written", func() bool { return w.Stats().Lines == 1 })
	r.Close()
	w.Finish(record(1))
	await(t, "the pipe is broken", func() bool { return w.Stats().Errors == 1 })
	r = reader(t, path)
	defer r.Close()
	await(t, "the journal goes on", func() bool { return w.Stats().Lines == 2 })
	mustClose(t, w)
	line, err := io.ReadAll(r)
	if err != nil || !bytes.Contains(line, []byte(`"turn":1}`)) {
		t.Errorf("got %q (%v), want turn 1", line, err)
	}
}
