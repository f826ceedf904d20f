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

func TestJudged(t *testing.T) {
	f := func(method, path string, want bool) {
		t.Helper()
		if got := Judged(method, path); got != want {
			t.Errorf("%s %s: got %v, want %v", method, path, got, want)
		}
	}
	for _, path := range []string{
		"/v1/chat/completions", "/invocations", "/v1/completions", "/generate", "/vertex_generate", "/v1/responses", "/v1/messages", "/api/chat", "/api/generate",
	} {
		f("POST", path, true)
		f("GET", path, false)
		f("PUT", path, path == "/generate")
		f("POST", path+"/", false)
	}
	f("POST", "/v1/messages/count_tokens", false)
	f("POST", "/v1/responses/resp_1/cancel", false)
	f("POST", "/v1/embeddings", false)
	f("POST", "/api/tags", false)
}

// TestRefusalsInDialects tells an error in the shape of each dialect.
func TestRefusalsInDialects(t *testing.T) {
	shapes := map[string]string{
		"/v1/completions":  `{"object":"error","message":%s,"type":"BadRequestError","param":null,"code":400}`,
		"/generate":        `{"error":{"message":%s}}`,
		"/vertex_generate": `{"error":{"message":%s}}`,
		"/v1/responses":    `{"error":{"message":%s,"type":"invalid_request_error","param":null,"code":400}}`,
		"/v1/messages":     `{"type":"error","error":{"type":"invalid_request_error","message":%s}}`,
		"/api/chat":        `{"error":%s}`,
		"/api/generate":    `{"error":%s}`,
	}
	f := func(status int, message, want string) {
		t.Helper()
		for path, shape := range shapes {
			req, err := ParseRequest(path, []byte(`{"stream":true}`))
			if err != nil {
				t.Fatal(err)
			}
			body := fmt.Sprintf(shape, quoted(message))
			if got := say(run(req, Head{status, "application/json"}, Complete, []byte(body))); got != want {
				t.Errorf("%s %d %s: got %s, want %s", path, status, body, got, want)
			}
		}
	}
	f(400, "Tool 0 function has invalid 'parameters' schema: 'objekt' is not valid", "unverified upstream_error client_schema_rejected")
	f(500, "Tool 0 function has invalid 'parameters' schema: x", "unverified upstream_error upstream_error")
	f(500, "Failed to parse DeepSeek V4 tool output: DSML tool arguments violate schema", "corrupted server_reported_malformed upstream_error")
	f(503, "The request queue is full.", "unverified upstream_error upstream_error")
}

// TestReportsInStreams tells of malformed tool output after output began.
func TestReportsInStreams(t *testing.T) {
	const report = `"Failed to parse DeepSeek V4 tool output: Undefined DSML tool"`
	f := func(path, body string) {
		t.Helper()
		v := answered(t, encoder{path: path, request: `{"stream":true}`}, body)
		if got, want := say(v), "corrupted server_reported_malformed truncated_error"; got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
		if at := strings.Index(body, report) + 1; len(v.Findings) > 0 && v.Findings[0].Offset != int64(at) {
			t.Errorf("%s: got offset %d, want %d", path, v.Findings[0].Offset, at)
		}
	}
	f("/v1/completions", `data: {"choices":[{"index":0,"text":"x"}]}`+"\n\n"+`data: {"error": {"message": `+report+`, "code": 400}}`+"\n\n"+done)
	f("/generate", `data: {"text":"x","meta_info":{}}`+"\n\n"+`data: {"error":{"message":`+report+`}}`+"\n\n"+done)
	f("/v1/messages", `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`+"\n\n"+"event: error\n"+`data: {"type":"error","error":{"type":"api_error","message":`+report+`}}`+"\n\n")
	f("/v1/responses", `data: {"type":"response.output_text.delta","delta":"x"}`+"\n\n"+`data: {"type":"response.failed","response":{"status":"failed","error":{"message":`+report+`}}}`+"\n\n")
	f("/api/chat", `{"message":{"content":"x"},"done":false}`+"\n"+`{"error":`+report+`}`+"\n")
}
