package proxy_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"turnwatch/proxy"
)

// exchange is a file of validate/testdata/dialects, or what concerns one of
// the answers in it.
type exchange struct {
	id, path, request string
	body, kind        string
	want              []string // the outcome, its kinds and its reason
}

// exchanges reads all of them.
func exchanges(t *testing.T) (all []exchange) {
	t.Helper()
	for _, file := range glob(t, "../validate/testdata/dialects/*.txtar") {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		part := map[string]string{}
		for _, f := range a.Files {
			part[f.Name] = string(f.Data)
		}
		path := strings.TrimSpace(part["path"])
		for _, form := range []string{"stream", "whole"} {
			if part[form] == "" {
				continue
			}
			x := exchange{id: filepath.Base(file) + " " + form, path: path, request: part["request"], body: part[form], kind: "application/json"}
			if form == "stream" {
				x.kind = "text/event-stream; charset=utf-8"
				if strings.HasPrefix(path, "/api/") {
					x.kind = "application/x-ndjson"
				}
			}
			x.want = wanted(part["want"], form)
			all = append(all, x)
		}
	}
	return all
}

// wanted is what is to be told of one form of an answer, less its lints.
func wanted(text, form string) []string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, form+": "); ok {
			return slices.DeleteFunc(strings.Fields(rest), func(w string) bool { return w == "suspect" || w[0] == '+' })
		}
	}
	return nil
}

// ask is the exchange's request as a client sends it.
func (x *exchange) ask(method string) string {
	return head(method+" "+x.path+" HTTP/1.1", "Host: x", "X-Request-Id: "+x.id, "Content-Type: application/json",
		fmt.Sprintf("Content-Length: %d", len(x.request))) + x.request
}

// TestEveryDialectIsJudgedRight by the running proxy, whose client gets every
// byte of it.
func TestEveryDialectIsJudgedRight(t *testing.T) {
	seen := newRecorder()
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{}, seen)
	for i, x := range exchanges(t) {
		method, size := "POST", i%3*7
		if x.path == "/generate" && i%2 == 0 {
			method = "PUT"
		}
		answer := head("HTTP/1.1 200 OK", "Content-Type: "+x.kind, "Transfer-Encoding: chunked") + chunked(x.body, 100)
		relayed(t, up, p, x.ask(method), answer, answer, size, false)
		got := seen.of(t, x.id)
		if told := append([]string{string(got.Outcome)}, told(got)...); !slices.Equal(told, x.want) {
			t.Errorf("%s: got %v, want %v", x.id, told, x.want)
		}
		if got.Path != x.path || got.BytesOut != int64(len(x.body)) {
			t.Errorf("%s: got path %s and %d bytes, want %s and %d", x.id, got.Path, got.BytesOut, x.path, len(x.body))
		}
		for _, f := range got.Findings {
			if f.Offset < 0 || f.Offset >= int64(len(x.body)) || f.AtMS < 0 {
				t.Errorf("%s: got %+v in %d bytes", x.id, f, len(x.body))
			}
		}
	}
}
