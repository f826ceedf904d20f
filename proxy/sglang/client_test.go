package sglang

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"turnwatch/proxy/turn"
)

func TestOwnRequestsCarryTheKeyAndNothingElseDoes(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	seen := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		seen <- r.Header.Get("Authorization")
		fmt.Fprint(w, strings.Repeat("x", 100))
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(" sk-1 \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(keyFile, want string) *client {
		t.Helper()
		g := newTagger(t, Config{Upstream: s.URL + "/", KeyFile: keyFile}, nil)
		body, err := g.poll.c.get(t.Context(), "/x", 100)
		if got := <-seen; got != want || len(body) != 100 || err != nil {
			t.Errorf("key %q: got %q, %d bytes, %v", keyFile, got, len(body), err)
		}
		return g.poll.c
	}
	f("", "").http.CloseIdleConnections()
	c := f(file, "Bearer sk-1")
	if _, err := c.get(t.Context(), "/x", 99); !errors.Is(err, errLarge) {
		t.Errorf("an answer beyond its bound: got %v", err)
	}
	<-seen
	if _, err := c.get(t.Context(), "/moved", 100); err == nil || elsewhere.Load() != 0 {
		t.Errorf("a redirection: got %v, %d requests elsewhere", err, elsewhere.Load())
	}
	c.http.CloseIdleConnections()
}

func TestOwnRequestsFindAUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.URL.Path)
	})}}
	s.Start()
	defer s.Close()
	g := newTagger(t, Config{Upstream: "unix:" + path}, nil)
	if body, err := g.poll.c.get(t.Context(), "/server_info", 100); string(body) != "/server_info" {
		t.Errorf("got %q, %v", body, err)
	}
	g.poll.c.http.CloseIdleConnections()
}

// TestFilesAreReadAgain when they change; a change that cannot be used keeps
// the value before it.
func TestFilesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	key, labels := filepath.Join(dir, "key"), filepath.Join(dir, "labels")
	write := func(file, text string) {
		t.Helper()
		// As a launcher does that lets nobody see half a file.
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write(key, "one")
	write(labels, "gpu=H100\ndriver=1")
	bubble(t, Config{NoPoll: true, KeyFile: key, LabelFile: labels, Labels: map[string]string{"gpu": "none", "rack": "7"}}, nil, func(t *testing.T, g *Tagger) {
		f := func(wantKey, want string) {
			t.Helper()
			time.Sleep(lookEvery + time.Millisecond)
			synctest.Wait()
			if got := show(answer(g, 0).Tags); got != want || g.key.get() != wantKey {
				t.Errorf("got %q and %s, want %q and %s", g.key.get(), got, wantKey, want)
			}
		}
		f("one", "driver=1/label gpu=H100/label rack=7/label")
		write(key, "two")
		write(labels, "gpu=H200")
		f("two", "gpu=H200/label rack=7/label")
		write(key, "")
		write(labels, "gpu=H300\nnonsense")
		f("two", "gpu=H200/label rack=7/label")
		if err := os.Remove(labels); err != nil {
			t.Fatal(err)
		}
		f("two", "gpu=H200/label rack=7/label")
		write(key, "three")
		write(labels, "")
		f("three", "gpu=none/label rack=7/label")
	})
}

func TestLoadIsThatOfTheTurnsRank(t *testing.T) {
	loads := `{"loads":[{"dp_rank":0,"num_running_reqs":3},{"dp_rank":1,"num_running_reqs":8},{"dp_rank":2,"num_running_reqs":5}]}`
	bubble(t, Config{}, server{"/v1/loads": always(loads)}, func(t *testing.T, g *Tagger) {
		f := func(head, want string) {
			t.Helper()
			w := g.Begin()
			synctest.Wait()
			w.Head([]byte("HTTP/1.1 200 OK\r\n" + head + "\r\n"))
			w.End()
			u := &turn.Turn{Time: time.Now(), Status: 200}
			tag(w, u, func() {})
			if got := u.Tags["batch"]; got.Value != want || got.Source != fromPoll {
				t.Errorf("%q: got %+v, want %s", head, got, want)
			}
		}
		f("x-sglang-dp-rank: 2\r\n", "5")
		f("x-sglang-dp-rank: 0\r\n", "3")
		f("x-sglang-dp-rank: 7\r\n", "8") // an unknown rank: the busiest
		f("", "8")
	})
}

// BenchmarkTag is the work on one turn off its answer's path, with as much
// known of the server as there can be.
func BenchmarkTag(b *testing.B) {
	g, err := New(Config{Upstream: "http://127.0.0.1:1", NoPoll: true})
	if err != nil {
		b.Fatal(err)
	}
	var body strings.Builder
	for i, name := range kept() {
		fmt.Fprintf(&body, `,%q:"value %d"`, name, i)
	}
	i, err := parseInfo([]byte("{" + body.String()[1:] + "}"))
	if err != nil {
		b.Fatal(err)
	}
	g.infos.add(i)
	head := []byte("HTTP/1.1 200 OK\r\ndate: x\r\ncontent-type: text/event-stream\r\nx-sglang-rid: r1\r\nx-sglang-batch-size: 3\r\nx-sglang-config-index-dtype: bf16\r\n\r\n")
	b.Run("path", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w := g.Begin()
			w.Head(head)
			w.Data(head, time.Now())
			w.Data(head, time.Now())
			w.End()
			w.Free()
		}
	})
	b.Run("off", func(b *testing.B) {
		b.ReportAllocs()
		w := g.Begin()
		w.Head(head)
		w.End()
		u := &turn.Turn{Time: time.Now(), Status: 200}
		for b.Loop() {
			w.Tag(u)
		}
	})
}
