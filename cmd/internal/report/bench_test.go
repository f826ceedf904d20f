package report

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// peak returns the most memory that the process has had resident, in MiB.
func peak() string {
	b, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "unknown"
}

// BenchmarkMillion reports on a million lines: run it with -benchtime 1x, alone,
// for the memory is that of the process.
func BenchmarkMillion(b *testing.B) { million(b, 1_000_000) }

// BenchmarkHundredThousand is a tenth of it.
func BenchmarkHundredThousand(b *testing.B) { million(b, 100_000) }

func million(b *testing.B, lines int) {
	path := filepath.Join(b.TempDir(), "turns.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := world{seed: 1, sessions: lines / 5, boots: 3, inside: 0.15, cause: origin, suspects: 0.001}
	if err := w.write(f); err != nil {
		b.Fatal(err)
	}
	f.Close()
	for b.Loop() {
		d, err := Read(context.Background(), []string{path}, nil)
		if err != nil || d.Turns() != lines {
			b.Fatalf("%d turns, %v; want %d", d.Turns(), err, lines)
		}
		r := Make(d, Options{Seed: 1})
		if err := r.HTML(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d lines; the process's peak memory: %s", lines, peak())
}
