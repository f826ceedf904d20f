package validate

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"
)

// spelled is a verdict without the times of its findings.
func spelled(t testing.TB, v Verdict) string {
	t.Helper()
	for i := range v.Findings {
		v.Findings[i].AtMS = 0
	}
	for i := range v.Signals {
		v.Signals[i].AtMS = 0
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// run judges a body cut into pieces of the given sizes; the last one takes the rest.
func run(req *Request, head Head, how Ending, body []byte, sizes ...int) Verdict {
	c := NewChecker(req, head)
	for i := 0; len(body) > 0; i++ {
		n := len(body)
		if i < len(sizes) {
			n = min(n, sizes[i])
		}
		c.Feed(time.Duration(i)*time.Millisecond, body[:n])
		body = body[n:]
	}
	v := c.Finish(how)
	c.Free()
	return v
}

// answer is one answer of the corpus.
type answer struct {
	name string
	req  *Request
	head Head
	body []byte
	how  Ending
}

func corpus(t testing.TB) []answer {
	t.Helper()
	var out []answer
	memory := NewSchemas(1 << 20)
	add := func(a answer, request []byte) {
		req, err := ParseRequest("/v1/chat/completions", request)
		if err != nil {
			t.Fatal(err)
		}
		req.Schemas, a.req = memory, req
		out = append(out, a)
	}
	for _, tc := range loadCases(t) {
		a := answer{name: tc.ID, head: Head{tc.Response.Status, tc.Response.Headers["content-type"]}, how: Complete}
		for _, p := range tc.pieces(t) {
			a.body = append(a.body, p...)
		}
		add(a, tc.Request)
	}
	files, _ := filepath.Glob("testdata/samples/*.http")
	for _, f := range files {
		a := answer{name: f}
		a.head, a.body, a.how = sample(t, f)
		req, err := samplesRequest(filepath.Base(f))
		if err != nil {
			t.Fatal(err)
		}
		a.req = req
		out = append(out, a)
	}
	for _, x := range exchanges(t) {
		out = append(out, x.answers...)
	}
	return out
}

func TestCutsDoNotMatter(t *testing.T) {
	for _, a := range corpus(t) {
		want := spelled(t, run(a.req, a.head, a.how, a.body))
		ones := make([]int, len(a.body))
		for i := range ones {
			ones[i] = 1
		}
		if got := spelled(t, run(a.req, a.head, a.how, a.body, ones...)); got != want {
			t.Errorf("%s byte by byte:\ngot  %s\nwant %s", a.name, got, want)
		}
		step := stride
		if len(a.body) > 16<<10 {
			step *= len(a.body) / 256 // long bodies are cut at some of their bytes
		}
		for i := 1; i < len(a.body); i += step {
			if got := spelled(t, run(a.req, a.head, a.how, a.body, i)); got != want {
				t.Fatalf("%s cut at %d:\ngot  %s\nwant %s", a.name, i, got, want)
			}
		}
	}
}

func FuzzCut(f *testing.F) {
	all := corpus(f)
	for i := range all {
		f.Add(uint16(i), uint16(7), uint16(100))
	}
	f.Fuzz(func(t *testing.T, which, a, b uint16) {
		x := all[int(which)%len(all)]
		want := spelled(t, run(x.req, x.head, x.how, x.body))
		sizes := make([]int, 0, 64)
		for i := range 64 {
			sizes = append(sizes, 1+int(a>>(i%8))%257*(i%3)+int(b)%(i+1))
		}
		if got := spelled(t, run(x.req, x.head, x.how, x.body, sizes...)); got != want {
			t.Errorf("%s cut into %v:\ngot  %s\nwant %s", x.name, sizes, got, want)
		}
	})
}

// TestBrokenOffAnswersAreNotCorrupted breaks good answers off at every third byte.
func TestBrokenOffAnswersAreNotCorrupted(t *testing.T) {
	for _, a := range corpus(t) {
		if v := run(a.req, a.head, a.how, a.body); v.Outcome == Corrupted || v.Outcome == Unverified {
			continue
		}
		step := stride * (3 + len(a.body)>>10)
		for n := 0; n < len(a.body); n += step {
			for _, how := range []Ending{Complete, ServerCut} {
				v := run(a.req, a.head, how, a.body[:n])
				if v.Outcome == Corrupted || v.Outcome == Clean && !finished(v) {
					t.Fatalf("%s broken off at %d, %s: got %s %v", a.name, n, how, v.Outcome, told(v))
				}
			}
		}
	}
}

// finished reports whether every choice has its finish reason.
func finished(v Verdict) bool {
	for _, word := range v.FinishReasons {
		if word == "" {
			return false
		}
	}
	return true
}
