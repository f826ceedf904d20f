package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the module's, seen from this package.
const root = "../.."

// The caps: of a file, of a function, and of what half and nine in ten of all
// functions stay within, in lines.
const (
	maxFile    = 500
	maxFunc    = 80
	halfOfAll  = 10
	mostOfAll  = 40
	enoughFunc = 50 // functions from which on shares mean something
)

// source is a parsed file.
type source struct {
	path string
	text []byte
	fset *token.FileSet
	file *ast.File
}

// sources returns the module's files, tests left out.
func sources(t *testing.T) (all []source) {
	t.Helper()
	for _, tree := range []string{"validate", "proxy", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, tree), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			all = append(all, parse(t, rel, string(text)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func parse(t *testing.T, path, text string) source {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return source{path, []byte(text), fset, file}
}

func (s source) lines() int { return strings.Count(string(s.text), "\n") }

// at names a place for an error.
func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(n.Pos()).Line)
}

// span returns the lines from signature to closing brace.
func (s source) span(f *ast.FuncDecl) int {
	return s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
}

func (s source) funcs() (all []*ast.FuncDecl) {
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			all = append(all, f)
		}
	}
	return all
}

// oversized returns what exceeds a cap in the files, and what the functions of
// all together do.
func oversized(files []source) (all []string) {
	var spans []int
	for _, s := range files {
		if n := s.lines(); n > maxFile {
			all = append(all, fmt.Sprintf("%s has %d lines, cap %d", s.path, n, maxFile))
		}
		for _, f := range s.funcs() {
			n := s.span(f)
			spans = append(spans, n)
			if n > maxFunc {
				all = append(all, fmt.Sprintf("%s: %s has %d lines, cap %d", s.at(f), f.Name.Name, n, maxFunc))
			}
		}
	}
	return append(all, shares(spans)...)
}

func shares(spans []int) (all []string) {
	if len(spans) < enoughFunc {
		return nil
	}
	slices.Sort(spans)
	if n := spans[(len(spans)-1)/2]; n > halfOfAll {
		all = append(all, fmt.Sprintf("half of all functions have up to %d lines, cap %d", n, halfOfAll))
	}
	if n := spans[(len(spans)-1)*9/10]; n > mostOfAll {
		all = append(all, fmt.Sprintf("nine in ten functions have up to %d lines, cap %d", n, mostOfAll))
	}
	return all
}

// undocumented returns the packages and exported names without a doc comment
// that starts with their name. In a group of constants or variables a comment
// on the group will do.
func undocumented(files []source) (all []string) {
	pkgs := make(map[string]bool) // by folder: has a package comment
	for _, s := range files {
		dir := filepath.ToSlash(filepath.Dir(s.path))
		pkgs[dir] = pkgs[dir] || names(s.file.Doc, packageDoc(s, dir))
		for _, d := range s.file.Decls {
			all = append(all, s.undocumented(d)...)
		}
	}
	for dir, ok := range pkgs {
		if !ok {
			all = append(all, dir+" has no package comment")
		}
	}
	return all
}

func packageDoc(s source, dir string) string {
	if s.file.Name.Name == "main" {
		return "Command " + dir[strings.LastIndexByte(dir, '/')+1:]
	}
	return "Package " + s.file.Name.Name
}

// names reports whether doc starts with name.
func names(doc *ast.CommentGroup, name string) bool {
	rest, ok := strings.CutPrefix(doc.Text(), name)
	return ok && rest != "" && strings.ContainsRune(" ,.:;'\n", rune(rest[0]))
}

func (s source) undocumented(d ast.Decl) (all []string) {
	miss := func(n ast.Node, name string) {
		all = append(all, fmt.Sprintf("%s: %s has no doc comment that starts with its name", s.at(n), name))
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) && !names(d.Doc, d.Name.Name) {
			miss(d, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if id := bare(d, spec); id != nil {
				miss(spec, id.Name)
			}
		}
	}
	return all
}

// exportedReceiver reports whether f is a function or the method of an exported type.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

// bare returns the first exported name in spec that has no doc comment.
func bare(d *ast.GenDecl, spec ast.Spec) *ast.Ident {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		doc := spec.Doc
		if !d.Lparen.IsValid() {
			doc = d.Doc
		}
		if spec.Name.IsExported() && !names(doc, spec.Name.Name) {
			return spec.Name
		}
	case *ast.ValueSpec:
		for _, id := range spec.Names {
			if id.IsExported() && !valueDoc(d, spec, id.Name) {
				return id
			}
		}
	}
	return nil
}

func valueDoc(d *ast.GenDecl, spec *ast.ValueSpec, name string) bool {
	if d.Lparen.IsValid() {
		return d.Doc.Text() != "" || names(spec.Doc, name)
	}
	return names(d.Doc, name)
}

func TestSizes(t *testing.T) {
	for _, o := range oversized(sources(t)) {
		t.Error(o)
	}
}

func TestDocComments(t *testing.T) {
	for _, u := range undocumented(sources(t)) {
		t.Error(u)
	}
}

func TestSizesSeesExcess(t *testing.T) {
	body := func(lines int) string { return "func f() {\n" + strings.Repeat("\t_ = 0\n", lines-2) + "}\n" }
	f := func(text string, want ...string) {
		t.Helper()
		if got := oversized([]source{parse(t, "p/a.go", "package p\n"+text)}); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(body(80))
	f(body(81), "p/a.go:2: f has 81 lines, cap 80")
	f("// f has a long comment\n" + strings.Repeat("//\n", 90) + body(5))
	f(strings.Repeat("\n", 499))
	f(strings.Repeat("\n", 500), "p/a.go has 501 lines, cap 500")
	f(strings.Repeat(body(2), 25)+strings.Repeat(body(11), 26), "half of all functions have up to 11 lines, cap 10")
	f(strings.Repeat(body(2), 26) + strings.Repeat(body(11), 24))
	f(strings.Repeat(body(2), 45)+strings.Repeat(body(41), 8), "nine in ten functions have up to 41 lines, cap 40")
	f(strings.Repeat(body(2), 55) + strings.Repeat(body(41), 5))
	f(strings.Repeat(body(11), 40))
}

func TestDocCommentsSeesGaps(t *testing.T) {
	f := func(path, text string, want ...string) {
		t.Helper()
		got := undocumented([]source{parse(t, path, text)})
		for i := range got {
			got[i] = strings.TrimSuffix(got[i], " has no doc comment that starts with its name")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	in := func(text string) string { return "// Package p is.\npackage p\n" + text }
	f("x/p/a.go", "package p\n", "x/p has no package comment")
	f("x/p/a.go", "// Pack p is.\npackage p\n", "x/p has no package comment")
	f("cmd/p/a.go", "// Package p is.\npackage main\n", "cmd/p has no package comment")
	f("cmd/p/a.go", "// Command p does.\npackage main\n")
	f("p/a.go", in("func f() {}\ntype t struct{}\nfunc (t) M() {}\nvar v int\n"))
	f("p/a.go", in("func F() {}"), "p/a.go:3: F")
	f("p/a.go", in("// Foo does.\nfunc F() {}"), "p/a.go:4: F")
	f("p/a.go", in("// F does.\nfunc F() {}\n// T is.\ntype T struct{}\nfunc (*T) M() {}"), "p/a.go:7: M")
	f("p/a.go", in("// T is.\ntype T[A, B any] struct{}\nfunc (*T[A, B]) M() {}"), "p/a.go:5: M")
	f("p/a.go", in("// All are.\ntype (\n\tT int\n\t// U is.\n\tU int\n)"), "p/a.go:5: T")
	f("p/a.go", in("// Limits.\nconst (\n\tA = 1\n\tB = 2\n)"))
	f("p/a.go", in("const (\n\tA = 1\n\t// B is.\n\tB = 2\n)"), "p/a.go:4: A")
	f("p/a.go", in("const A = 1"), "p/a.go:3: A")
	f("p/a.go", in("// A is.\nvar A = 1"))
}
