package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// graph draws who may import whom among our packages. Effects are above the
// line, what is pure is below it. A package may be drawn before it exists; one
// that exists must be drawn.
const graph = `
cmd/turnwatch  -> proxy proxy/pairs proxy/turn proxy/sglang proxy/journal proxy/evidence proxy/second proxy/console proxy/telemetry
cmd/turnstress -> validate validate/stats validate/agents proxy/turn proxy/sglang proxy/journal proxy/evidence cmd/internal/stress cmd/internal/replay
cmd/turnreport -> validate validate/stats proxy/turn proxy/pairs proxy/journal proxy/evidence cmd/internal/report
cmd/simsglang  -> proxy/sglangtest
cmd/turncheck  -> validate proxy/turn proxy/evidence
cmd/turnbench  -> cmd/internal/bench
cmd/turndemo   -> proxy proxy/journal proxy/sglang proxy/sglangtest cmd/internal/stress cmd/internal/report

cmd/internal/stress -> validate validate/stats validate/agents proxy/turn proxy/sglang proxy/journal proxy/evidence
cmd/internal/replay -> validate validate/stats proxy/turn proxy/evidence proxy/sglangtest
cmd/internal/report -> validate validate/stats proxy/turn proxy/journal proxy/evidence
cmd/internal/bench  ->

proxy            -> proxy/pairs proxy/sglang proxy/turn validate validate/agents validate/stats
proxy/pairs      -> proxy/turn validate/stats
proxy/telemetry  -> proxy/turn validate validate/stats
proxy/journal    -> proxy/turn
proxy/evidence   -> proxy/turn
proxy/second    -> proxy/direct proxy/turn validate validate/opinion
proxy/console    -> proxy/turn
proxy/sglang     -> proxy/direct proxy/turn
proxy/turn       -> validate
proxy/direct     ->
proxy/sglangtest ->
proxy/leaktest   ->
═══════════════════════════════════════════════════════════════════════
validate -> validate/sse validate/wire validate/jsonstream validate/schema validate/markup validate/text validate/echo

validate/sse        ->
validate/wire       ->
validate/jsonstream ->
validate/schema     ->
validate/markup     ->
validate/text       ->
validate/echo       ->
validate/agents     ->
validate/stats      ->
validate/opinion    ->
`

// unreachable lists what a tree must not reach, however indirectly, and why.
var unreachable = []struct{ from, path, why string }{
	{"validate", "net", "the judge opens no socket"},
	{"validate", "os/exec", "the judge starts no process"},
	{"validate", "github.com/valyala/fasthttp", "the judge knows no transport"},
	{"validate", "go.opentelemetry.io", "the judge reports to nobody"},
	{"cmd/turnstress", "github.com/valyala/fasthttp", "what measures must share no fault with what is measured"},
	{"proxy/sglangtest", "github.com/valyala/fasthttp", "the simulator must share no fault with the relay"},
	{"cmd/turnbench", "github.com/valyala/fasthttp", "what measures must share no fault with what is measured"},
}

// reserved lists the modules that one package alone may import.
var reserved = []struct{ path, owner string }{
	{"github.com/valyala/fasthttp", "proxy"},
	{"go.opentelemetry.io", "proxy/telemetry"},
	{"github.com/prometheus", "proxy/telemetry"},
	{"gonum.org", "validate/stats"},
}

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

const module = "turnwatch"

// drawn reads the graph.
func drawn(graph string) map[string][]string {
	rows := make(map[string][]string)
	for line := range strings.Lines(graph) {
		if from, to, ok := strings.Cut(line, "->"); ok {
			rows[strings.TrimSpace(from)] = strings.Fields(to)
		}
	}
	return rows
}

// within reports whether path is tree or a package in it.
func within(path, tree string) bool { return path == tree || strings.HasPrefix(path, tree+"/") }

// breaches returns what the packages do against the graph and the rules.
func breaches(rows map[string][]string, pkgs []pkg) (all []string) {
	for _, p := range pkgs {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		all = append(all, forbidden(name, p)...)
		may, ok := rows[name]
		if !ok {
			all = append(all, name+" is not drawn")
			continue
		}
		all = append(all, undrawn(name, may, p.Imports)...)
		if within(name, "validate") {
			own := append([]string{name}, may...)
			all = append(all, undrawn("a test of "+name, own, append(p.TestImports, p.XTestImports...))...)
		}
	}
	return all
}

// undrawn returns the imports among our packages that are not in may.
func undrawn(name string, may, imports []string) (all []string) {
	for _, path := range imports {
		ours, ok := strings.CutPrefix(path, module+"/")
		if ok && !slices.Contains(may, ours) {
			all = append(all, fmt.Sprintf("%s imports %s, which is not drawn", name, ours))
		}
	}
	return all
}

func forbidden(name string, p pkg) (all []string) {
	for _, path := range p.Imports {
		for _, r := range reserved {
			if within(path, r.path) && name != r.owner {
				all = append(all, fmt.Sprintf("%s imports %s, which only %s may", name, path, r.owner))
			}
		}
	}
	for _, path := range p.Deps {
		for _, u := range unreachable {
			if within(name, u.from) && (path == u.path || strings.Contains(u.path, ".") && within(path, u.path)) {
				all = append(all, fmt.Sprintf("%s reaches %s: %s", name, path, u.why))
			}
		}
	}
	return all
}

func TestHouse(t *testing.T) {
	sources(t) // reading them all makes a cached result depend on them
	cmd := exec.Command("go", "list", "-pgo=off", "-json=ImportPath,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 5 {
		t.Fatalf("go list tells of %d packages", len(pkgs))
	}
	for _, b := range breaches(drawn(graph), pkgs) {
		t.Error(b)
	}
}

func TestHouseSeesBreaches(t *testing.T) {
	f := func(p pkg, want ...string) {
		t.Helper()
		p.ImportPath = module + "/" + p.ImportPath
		if got := breaches(drawn(graph), []pkg{p}); !slices.Equal(got, want) {
			t.Errorf("%+v:\ngot  %q\nwant %q", p, got, want)
		}
	}
	f(pkg{ImportPath: "validate", Imports: []string{"turnwatch/validate/sse", "strings"}, Deps: []string{"net/url", "net/netip"}})
	f(pkg{ImportPath: "proxy", Imports: []string{"turnwatch/proxy/turn", "github.com/valyala/fasthttp"}, TestImports: []string{"turnwatch/proxy/sglangtest"}})
	f(pkg{ImportPath: "validate/new"}, "validate/new is not drawn")
	f(pkg{ImportPath: "proxy", Imports: []string{"turnwatch/proxy/journal"}}, "proxy imports proxy/journal, which is not drawn")
	f(pkg{ImportPath: "validate/sse", Imports: []string{"turnwatch/validate"}}, "validate/sse imports validate, which is not drawn")
	f(pkg{ImportPath: "proxy/sglangtest", Imports: []string{"turnwatch/validate/sse"}}, "proxy/sglangtest imports validate/sse, which is not drawn")
	f(pkg{ImportPath: "proxy/turn", Imports: []string{"turnwatch/cmd/turnwatch"}}, "proxy/turn imports cmd/turnwatch, which is not drawn")
	f(pkg{ImportPath: "validate/wire", XTestImports: []string{"turnwatch/validate/wire", "turnwatch/proxy"}}, "a test of validate/wire imports proxy, which is not drawn")
	f(pkg{ImportPath: "validate/schema", Deps: []string{"net", "os/exec"}},
		"validate/schema reaches net: the judge opens no socket", "validate/schema reaches os/exec: the judge starts no process")
	f(pkg{ImportPath: "proxy/journal", Imports: []string{"github.com/valyala/fasthttp/fasthttputil"}},
		"proxy/journal imports github.com/valyala/fasthttp/fasthttputil, which only proxy may")
	f(pkg{ImportPath: "proxy", Imports: []string{"gonum.org/v1/gonum/mathext"}}, "proxy imports gonum.org/v1/gonum/mathext, which only validate/stats may")
	f(pkg{ImportPath: "proxy", Imports: []string{"go.opentelemetry.io/otel"}}, "proxy imports go.opentelemetry.io/otel, which only proxy/telemetry may")
	f(pkg{ImportPath: "cmd/turnstress", Deps: []string{"github.com/valyala/fasthttp"}},
		"cmd/turnstress reaches github.com/valyala/fasthttp: what measures must share no fault with what is measured")
}

func TestGraphIsClosed(t *testing.T) {
	rows := drawn(graph)
	for from, to := range rows {
		for _, p := range to {
			if _, ok := rows[p]; !ok {
				t.Errorf("%s may import %s, which is not drawn", from, p)
			}
			if within(from, "validate") && !within(p, "validate") {
				t.Errorf("%s may import %s across the line", from, p)
			}
		}
	}
	if len(rows) != strings.Count(graph, "->") {
		t.Errorf("a package is drawn twice")
	}
}
