package sglang

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"turnwatch/proxy/turn"
)

// follows runs a Tagger that follows a status log.
func follows(t *testing.T, path string) *Tagger {
	t.Helper()
	g := newTagger(t, Config{NoPoll: true, StatusLog: path}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { g.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return g
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func status(at time.Time, rids ...string) string {
	return fmt.Sprintf(`{"timestamp":%.6f,"event":"scheduler.status","rank":0,"running_rids":["%s"],"queued_rids":[]}`+"\n",
		float64(at.UnixMicro())/1e6, strings.Join(rids, `","`))
}

func (l *statusLog) known(rid string) bool {
	_, _, ok := l.nearest(rid, time.Now())
	return ok
}

func TestStatusLogIsFollowed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "host_0.log")
	appendTo(t, file, status(time.Now(), "old"))
	g := follows(t, dir)
	appendTo(t, file, status(time.Now(), "mark"))
	// The first look may come after the mark, which is then of the past.
	await(t, "a first line", func() bool {
		appendTo(t, file, status(time.Now(), "a", "b", "HEALTH_CHECK_1"))
		return g.log.known("a")
	})
	if g.log.known("old") {
		t.Error("a line from before the start is known")
	}
	if n, _, ok := g.log.nearest("b", time.Now()); n != 2 || !ok {
		t.Errorf("b: got %d, %t, want 2", n, ok)
	}
	// One that is no JSON, one that is too long.
	appendTo(t, file, "no JSON\n{\n"+status(time.Now(), "c", "d", "e")+`{"running_rids":["`+strings.Repeat("x", 2*tailLine)+"\"]}\n"+status(time.Now(), "f"))
	await(t, "the line after the long one", func() bool { return g.log.known("f") })
	if n, _, _ := g.log.nearest("d", time.Now()); n != 3 {
		t.Errorf("d: got %d, want 3", n)
	}
	// The file is replaced, another comes, then all are gone.
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	appendTo(t, file, status(time.Now(), "g"))
	appendTo(t, filepath.Join(dir, "host_1.log"), status(time.Now(), "h"))
	await(t, "the lines of both new files", func() bool { return g.log.known("g") && g.log.known("h") })
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	await(t, "the failure", func() bool { return g.Stats().Polls[4].Failed > 0 })
}

func TestStatusLogTellsTheBatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "status.log")
	appendTo(t, file, "")
	g := follows(t, file)
	w := g.Begin()
	await(t, "a first line", func() bool {
		appendTo(t, file, status(time.Now(), "first"))
		return g.log.known("first")
	})
	w.Head([]byte("HTTP/1.1 200 OK\r\nx-sglang-rid: r1\r\n\r\n"))
	begin := time.Now()
	appendTo(t, file, status(begin, "r1", "a")+status(begin.Add(time.Microsecond), "r1", "a", "b", "c")+status(begin.Add(2*time.Microsecond), "r1")+status(begin, "a", "b", "c", "d", "last"))
	await(t, "the lines", func() bool { return g.log.known("last") })
	w.End()
	u := &turn.Turn{Time: begin, Status: 200}
	tag(w, u, func() {})
	if got := u.Tags["batch"]; got != (turn.Tag{Value: "4", Source: "status_log"}) {
		t.Errorf("batch: got %+v", got)
	}
}

func TestLinesAreWholeHoweverTheyCome(t *testing.T) {
	text := "one\ntwo\n\nthree\nfour"
	for size := 1; size <= len(text); size++ {
		var got []string
		tail := new(tail)
		for rest := text; rest != ""; {
			piece := rest[:min(size, len(rest))]
			rest = rest[len(piece):]
			for line := range strings.Lines(piece) {
				tail.add([]byte(line), func(b []byte) { got = append(got, string(b)) })
			}
		}
		if want := []string{"one\n", "two\n", "\n", "three\n"}; !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: got %q, want %q", size, got, want)
		}
	}
}

func TestMomentIsReadOrNow(t *testing.T) {
	now := time.Now()
	f := func(v any, want time.Time) {
		t.Helper()
		s := fmt.Sprint(v)
		if text, ok := v.(string); ok {
			s = fmt.Sprintf("%q", text)
		}
		if got := moment(gjson.Parse(s)); got.Sub(want).Abs() > 5*time.Second {
			t.Errorf("%s: got %v, want %v", s, got, want)
		}
	}
	past := now.Add(-30 * time.Second)
	f(past.Format(time.RFC3339Nano), past)
	f(past.Format("2006-01-02T15:04:05.000000"), past)
	f(past.Format("2006-01-02 15:04:05.000"), past)
	f(float64(past.Unix()), past)
	f(-1.0, now)
	f("yesterday", now)
	f("", now)
	f(1e300, now)
}
