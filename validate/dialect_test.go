package validate

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what is found into testdata/dialects as what is wanted")

// exchange is one file of testdata/dialects: a path, a request, its answer as a
// stream, as a whole body or both, and what is to be said of each.
type exchange struct {
	file    string
	archive *txtar.Archive
	path    string
	request []byte
	want    string
	answers []answer
}

// exchanges reads testdata/dialects.
func exchanges(t testing.TB) []exchange {
	t.Helper()
	files, err := filepath.Glob("testdata/dialects/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dialects: %v", err)
	}
	out := make([]exchange, len(files))
	for i, f := range files {
		out[i] = readExchange(t, f)
	}
	return out
}

func readExchange(t testing.TB, file string) exchange {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	x := exchange{file: file, archive: a}
	for _, f := range a.Files {
		switch f.Name {
		case "path":
			x.path = strings.TrimSpace(string(f.Data))
		case "request":
			x.request = f.Data
		case "want":
			x.want = string(f.Data)
		}
	}
	req, err := ParseRequest(x.path, x.request)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, f := range a.Files {
		a := answer{name: file + " " + f.Name, req: req, body: f.Data, how: Complete, head: Head{200, "application/json"}}
		switch {
		case f.Name == "whole":
		case f.Name == "stream" && strings.HasPrefix(x.path, "/api/"):
			a.head.ContentType = "application/x-ndjson"
		case f.Name == "stream":
			a.head.ContentType = "text/event-stream; charset=utf-8"
		default:
			continue
		}
		x.answers = append(x.answers, a)
	}
	return x
}

// describe spells a verdict and where its findings lie.
func describe(v Verdict, body []byte) string {
	var b strings.Builder
	b.WriteString(say(v))
	fmt.Fprintf(&b, "\n  calls %d, finish %q", v.Calls, v.FinishReasons)
	if v.Usage != nil {
		fmt.Fprintf(&b, ", tokens %d+%d", v.Usage.PromptTokens, v.Usage.CompletionTokens)
	}
	b.WriteString("\n")
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "  %s", f.Kind)
		if f.Choice > 0 {
			fmt.Fprintf(&b, " choice %d", f.Choice)
		}
		if f.Call != nil {
			fmt.Fprintf(&b, " call %d", *f.Call)
		}
		if f.Tool != "" {
			fmt.Fprintf(&b, " of %s", f.Tool)
		}
		if f.ArgOffset != nil {
			fmt.Fprintf(&b, " argument byte %d", *f.ArgOffset)
		}
		if f.Path != "" {
			fmt.Fprintf(&b, " %s", f.Path)
		}
		before, after := body[:f.Offset], body[f.Offset:]
		fmt.Fprintf(&b, " at %s ⟨%s\n", before[max(0, len(before)-16):], after[:min(12, len(after))])
	}
	for _, s := range v.Signals {
		fmt.Fprintf(&b, "  signal %s\n", s.Kind)
	}
	return strings.ReplaceAll(b.String(), "\n\n", "\n")
}

func TestDialects(t *testing.T) {
	for _, x := range exchanges(t) {
		var got strings.Builder
		for _, a := range x.answers {
			v := run(a.req, a.head, a.how, a.body)
			fmt.Fprintf(&got, "%s: %s", a.name[strings.LastIndexByte(a.name, ' ')+1:], describe(v, a.body))
		}
		if got.String() == x.want {
			continue
		}
		if !*update {
			t.Errorf("%s:\ngot\n%swant\n%s", x.file, got.String(), x.want)
			continue
		}
		keep := slices.DeleteFunc(x.archive.Files, func(f txtar.File) bool { return f.Name == "want" })
		x.archive.Files = append(keep, txtar.File{Name: "want", Data: []byte(got.String())})
		if err := os.WriteFile(x.file, txtar.Format(x.archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzDialects feeds any request and any answer in every dialect.
func FuzzDialects(f *testing.F) {
	paths := []string{"/v1/completions", "/generate", "/vertex_generate", "/v1/responses", "/v1/messages", "/api/chat", "/api/generate"}
	for _, x := range exchanges(f) {
		for _, a := range x.answers {
			f.Add(uint8(max(0, slices.Index(paths, x.path))), x.request, a.body, uint8(5))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, request, body []byte, cut uint8) {
		path := paths[int(which)%len(paths)]
		req, err := ParseRequest(path, request)
		if err != nil {
			return
		}
		head := Head{200, ""}
		if strings.HasPrefix(path, "/api/") {
			head.ContentType = "application/x-ndjson"
		}
		whole := run(req, head, Complete, body)
		want := spelled(t, whole)
		sizes := make([]int, len(body)/(1+int(cut)))
		for i := range sizes {
			sizes[i] = 1 + int(cut)
		}
		if got := spelled(t, run(req, head, Complete, body, sizes...)); got != want {
			t.Errorf("%s in pieces of %d:\ngot  %s\nwant %s", path, 1+int(cut), got, want)
		}
		for _, x := range whole.Findings {
			if x.Offset < 0 || x.Offset > int64(len(body)) || x.Severity == "" || x.Cause == "" {
				t.Errorf("%s: finding %+v in %d bytes", path, x, len(body))
			}
		}
		if (whole.Outcome == Unverified) != (whole.Reason != "") {
			t.Errorf("%s: verdict %s for the reason %q", path, whole.Outcome, whole.Reason)
		}
	})
}
