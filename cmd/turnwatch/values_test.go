package main

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSizeIsReadWithItsUnit(t *testing.T) {
	f := func(in string, want int64, out string) {
		t.Helper()
		var z size
		if err := z.Set(in); err != nil || int64(z) != want || z.String() != out {
			t.Errorf("%q: got %d, %q, %v, want %d, %q", in, int64(z), z.String(), err, want, out)
		}
	}
	f("1", 1, "1")
	f("1000B", 1000, "1000")
	f("1024", 1024, "1KiB")
	f("64MiB", 64<<20, "64MiB")
	f("1536 MiB", 1536<<20, "1536MiB")
	f("2GiB", 2<<30, "2GiB")
	f("3TiB", 3<<40, "3TiB")
	f("5kB", 5000, "5000")
	f("7MB", 7e6, "7000000")
	f("7GB", 7e9, "7000000000")
	f("8388607TiB", 8388607<<40, "8388607TiB")
	for _, in := range []string{"", "0", "-1", "MiB", "1.5MiB", "64mib", "64 M", "8388608TiB", "9223372036854775808", "1e9"} {
		z := size(7)
		if err := z.Set(in); err == nil || z != 7 {
			t.Errorf("%q: got %d, %v, want an error and the old value", in, int64(z), err)
		}
	}
}

func TestDurationIsReadWithItsUnit(t *testing.T) {
	f := func(in string, want time.Duration, out string) {
		t.Helper()
		var d span
		if err := d.Set(in); err != nil || time.Duration(d) != want || d.String() != out {
			t.Errorf("%q: got %v, %q, %v, want %v, %q", in, time.Duration(d), d.String(), err, want, out)
		}
	}
	f("0", 0, "0s")
	f("0s", 0, "0s")
	f("10s", 10*time.Second, "10s")
	f("90s", 90*time.Second, "1m30s")
	f("60s", time.Minute, "1m")
	f("24h", 24*time.Hour, "24h")
	f("1h30m", 90*time.Minute, "1h30m")
	f("250ms", 250*time.Millisecond, "250ms")
	for in, want := range map[string]string{"5": "needs a unit", "1.5": "needs a unit", "-5s": "negative", "soon": "not a duration", "": "not a duration"} {
		d := span(7)
		if err := d.Set(in); err == nil || !strings.Contains(err.Error(), want) || d != 7 {
			t.Errorf("%q: got %v, %v, want an error with %q", in, d, err, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"upstream", "idle-timeout", "first-byte-timeout", "listen", "admin"}
	f := func(in, want string) {
		t.Helper()
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		if got := didYouMean(in, names); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	f("upstrem", "upstream")
	f("UPSTREAM", "upstream")
	f("idle-timout", "idle-timeout")
	f("idle_timeout", "idle-timeout")
	f("listne", "listen")
	f("x", "")
	f("", "")
	f("journal", "")
}

func TestDistance(t *testing.T) {
	f := func(a, b string, want int) {
		t.Helper()
		if got, back := distance(a, b), distance(b, a); got != want || back != want {
			t.Errorf("%q, %q: got %d and %d, want %d", a, b, got, back, want)
		}
	}
	f("", "", 0)
	f("", "abc", 3)
	f("abc", "abc", 0)
	f("kitten", "sitting", 3)
	f("flaw", "lawn", 2)
}

// Every flag is documented, stands in one group, and can be read back from what
// it prints.
func TestEveryFlagIsWhole(t *testing.T) {
	var o options
	f := newFlags(&o)
	var grouped []string
	for _, g := range f.groups {
		grouped = append(grouped, g.names...)
	}
	slices.Sort(grouped)
	if names := f.names(""); !slices.Equal(grouped, names) {
		t.Errorf("flags in groups: got %v, want %v", grouped, names)
	}
	f.set.VisitAll(func(fl *flag.Flag) {
		arg, help := flag.UnquoteUsage(fl)
		if help == "" || arg == "string" || strings.HasSuffix(help, ".") {
			t.Errorf("-%s: got help %q with argument %q", fl.Name, help, arg)
		}
		if fl.DefValue == "" {
			return
		}
		if err := fl.Value.Set(fl.DefValue); err != nil || fl.Value.String() != fl.DefValue {
			t.Errorf("-%s: the default %q reads back as %q, %v", fl.Name, fl.DefValue, fl.Value, err)
		}
	})
}

// A variable with the name of a flag never has the form of those that
// Kubernetes sets for services, which are not looked at.
func TestNoVariableLooksLikeAServiceLink(t *testing.T) {
	var o options
	for _, name := range newFlags(&o).names("") {
		if v := envName(name); serviceLink(v, "tcp://10.0.0.1:80") {
			t.Errorf("%s: got taken for a service link", v)
		}
	}
}

func TestMask(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := mask(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	f("http://127.0.0.1:30000", "http://127.0.0.1:30000")
	f("http://u:p@h:1", "http://xxxxx@h:1")
	f("http://u:p@q@h:1", "http://xxxxx@h:1")
	f("https://token@h", "https://xxxxx@h")
	f("unix:/a@b", "unix:/a@b")
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var o options
	f := newFlags(&o)
	var b strings.Builder
	f.usage(&b)
	for _, name := range f.names("\n  -") {
		if !strings.Contains(b.String(), name) {
			t.Errorf("help: got no %q", name)
		}
	}
	for i, line := range strings.Split(b.String(), "\n") {
		if len(line) > 120 {
			t.Errorf("line %d of the help has %d columns", i+1, len(line))
		}
	}
}
