package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestInputsAreReadInPlainWords holds what no script can write: bytes that are
// no text, pipes, and files beyond all bounds.
func TestInputsAreReadInPlainWords(t *testing.T) {
	const turn = `{"request":{"messages":[]},"response":{"choices":[{"index":0,"message":{"content":"hello"},"finish_reason":"stop"}]}}`
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	f := func(path, want string) {
		t.Helper()
		var out, complaints bytes.Buffer
		code := run([]string{path, file("good.json", turn)}, &out, &complaints)
		if code != exitUnable || !strings.Contains(complaints.String(), want) || !strings.Contains(out.String(), "clean       good\n") {
			t.Errorf("%s: got %d, %q, %q, want 2, %q and the other one judged", path, code, &complaints, &out, want)
		}
	}
	f(file("latin.json", strings.Replace(turn, "hello", "caf\xe9", 1)), `latin.json:1: byte 86 is not UTF-8: put bytes that are none into "body_b64"`)
	f(file("wide.json", "\xff\xfe{\x00"), "wide.json:1: it is UTF-16")
	f(file("torn.json", "\x1f\x8b\x08\x00\x00"), "torn.json: inflate it: ")
	huge := file("huge.json", "")
	if err := os.Truncate(huge, maxInput+1); err != nil {
		t.Fatal(err)
	}
	f(huge, "larger than the 1024 MiB that are read of a file")

	pipe := filepath.Join(dir, "sub", "pipe.json")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "sub", "only"), 0o700), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	f(filepath.Dir(pipe), "pipe.json: it is no file: name it by itself")
	go func() {
		if w, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
			z := gzip.NewWriter(w)
			_, _ = z.Write([]byte(turn))
			_ = errors.Join(z.Close(), w.Close())
		}
	}()
	good := func(path string) {
		t.Helper()
		var out bytes.Buffer
		if code := run([]string{path}, &out, &out); code != exitGood || !strings.HasSuffix(out.String(), "\n1 turn: 1 clean\n") {
			t.Errorf("%s: got %d, %q", path, code, &out)
		}
	}
	good(pipe)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(turn))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	good(file("turn.json.gz", zipped.String()))
	good(filepath.Dir(file(filepath.Join("sub", "only", "turn.json.gz"), zipped.String())))
}
