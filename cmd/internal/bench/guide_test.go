package bench

import (
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// A profile that guides a build sums what was given, and tells nothing of the
// machine it was taken on.
func TestGuideIsNameless(t *testing.T) {
	dir := t.TempDir()
	var all []*profile.Profile
	for _, name := range []string{"one", "two"} {
		file := filepath.Join(dir, name)
		work(t, file)
		p, err := nameless(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	out := filepath.Join(dir, "out")
	if err := merge(all, out); err != nil {
		t.Fatal(err)
	}
	sum := parsed(t, out)
	if got, want := weight(sum), weight(all[0])+weight(all[1]); got != want || got == 0 {
		t.Errorf("the sum weighs %d, its parts %d", got, want)
	}
	if s := sum.String(); strings.Contains(s, string(filepath.Separator)+"guide_test.go") || strings.Contains(s, os.Args[0]) || strings.Contains(s, "Mappings\n1") {
		t.Errorf("the profile names a file:\n%s", s)
	}
	if !strings.Contains(sum.String(), "turn") {
		t.Error("the profile names no function of ours")
	}
}

// work writes a profile of a little work, measured in CPU: a loaded machine
// gives less of it in the same time.
func work(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		t.Fatal(err)
	}
	n := 0
	for end := used(t) + 200*time.Millisecond; used(t) < end; {
		n += spin()
	}
	pprof.StopCPUProfile()
	t.Log(n) // so that the work is for something
}

// used is the CPU that this process took in user mode.
func used(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano())
}

//go:noinline
func spin() (n int) {
	for i := range 1 << 16 {
		n += i & (n | 1)
	}
	return n
}

func weight(p *profile.Profile) (n int64) {
	for _, s := range p.Sample {
		n += s.Value[0]
	}
	return n
}

// The profile that turnwatch is built by names no file either.
func TestGuideInUseIsNameless(t *testing.T) {
	p := parsed(t, "../../turnwatch/default.pgo")
	ours := 0
	for _, fn := range p.Function {
		if fn.Filename != "" {
			t.Fatalf("%s is said to be in %s", fn.Name, fn.Filename)
		}
		if strings.HasPrefix(fn.Name, "turnwatch/") {
			ours++
		}
	}
	if len(p.Mapping) > 0 || ours < 100 {
		t.Errorf("%d mappings and %d functions of ours: made by turnbench guide?", len(p.Mapping), ours)
	}
}

// parsed is the profile in a file.
func parsed(t *testing.T, file string) *profile.Profile {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
