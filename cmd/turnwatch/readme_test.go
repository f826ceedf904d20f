package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"turnwatch/proxy/journal"
	"turnwatch/proxy/turn"
)

func readme(t *testing.T) string { return page(t, "README.md") }

func page(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// pages lists the documents beside the code, and the README.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md"}
	for _, pattern := range []string{"*/*.md", "*/*/*.md", "*/*/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			all = append(all, strings.TrimPrefix(filepath.ToSlash(path), "../../"))
		}
	}
	return all
}

// anchor is what a link to a heading is made of.
func anchor(heading string) string {
	heading = regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(heading, " ", "-")
}

// Every link from page to page leads to a file, and to a heading in it.
func TestLinksLead(t *testing.T) {
	seen := 0
	for _, from := range pages(t) {
		for _, m := range regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]+)?\)`).FindAllStringSubmatch(page(t, from), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			seen++
			to := from
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(from), m[1])
			}
			if _, err := os.Stat(filepath.Join("../..", to)); err != nil {
				t.Errorf("%s: got a link to %s, which is not there", from, m[1])
			} else if m[2] != "" && !slices.Contains(anchors(page(t, to)), m[2][1:]) {
				t.Errorf("%s: got a link to %s, which is no heading of %s", from, m[2], to)
			}
		}
	}
	if seen < 50 {
		t.Errorf("links: got %d, want 50 or more", seen)
	}
}

func anchors(text string) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		all = append(all, anchor(m[1]))
	}
	return all
}

// Every test that the README names stands in the package it names it in.
func TestReadmeNamesTestsThatExist(t *testing.T) {
	cell := regexp.MustCompile("([a-z0-9/]+):\\s+((?:`(?:Test|Fuzz)\\w+`(?:,\\s+)?)+)")
	name := regexp.MustCompile(`(?:Test|Fuzz)\w+`)
	var named []string
	for _, m := range cell.FindAllStringSubmatch(readme(t), -1) {
		have := testsOf(t, m[1])
		for _, test := range name.FindAllString(m[2], -1) {
			named = append(named, test)
			if !slices.Contains(have, test) {
				t.Errorf("%s: got no %s there", m[1], test)
			}
		}
	}
	if all := regexp.MustCompile("`(?:Test|Fuzz)\\w+`").FindAllString(readme(t), -1); len(all) != len(named) || len(named) == 0 {
		t.Errorf("tests with a package: got %d of %d", len(named), len(all))
	}
}

// Nobody has to scroll sideways.
func TestReadmeHasNoLongLines(t *testing.T) {
	for i, line := range strings.Split(readme(t), "\n") {
		if n := utf8.RuneCountInString(line); n > 200 {
			t.Errorf("line %d: got %d columns, want 200 at most: %.60s", i+1, n, line)
		}
	}
}

// Whatever is given up is in the runbook that is opened for it.
func TestRunbookHasEveryDrop(t *testing.T) {
	runbook := page(t, "deploy/runbooks/TurnwatchRecordsDropping.md")
	for _, why := range turn.Drops() {
		if !strings.Contains(runbook, "`"+string(why)+"`") {
			t.Errorf("%s: got no row", why)
		}
	}
}

// testsOf lists the tests of a package.
func testsOf(t *testing.T, pkg string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", pkg, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("%s: got no tests, %v", pkg, err)
	}
	var names []string
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(b, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

// flagsOf lists the flags that a command's source names.
func flagsOf(t *testing.T, pkg string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", pkg, "*.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("%s: got no files, %v", pkg, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\.\w*Var\([^,]+, "([a-z0-9-]+)"`).FindAllSubmatch(b, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

// Every flag in the README, and in what stands beside the code, is one of ours,
// and its default is ours.
func TestReadmeNamesFlagsThatExist(t *testing.T) {
	var o options
	f := newFlags(&o)
	foreign := append(append(flagsOf(t, "cmd/turnreport"), flagsOf(t, "cmd/turnbench")...), "h", "target", "tags", "pgo", "json", "request", "path", "fault") // help, docker's, go's, turncheck's and simsglang's
	var text strings.Builder
	for _, path := range pages(t) {
		if strings.HasPrefix(path, "deploy/") || path == "cmd/turnstress/README.md" { // of others' flags, too
			continue
		}
		before, rest, _ := strings.Cut(page(t, path), "\n## Reproduce it") // held by turnstress
		_, after, _ := strings.Cut(rest, "\n## ")
		text.WriteString(before + after)
	}
	for _, m := range regexp.MustCompile("`-{1,2}([a-z][a-z0-9-]*)").FindAllStringSubmatch(text.String(), -1) {
		if f.set.Lookup(m[1]) == nil && !slices.Contains(foreign, m[1]) && m[1] != "some-name" {
			t.Errorf("-%s: got in the README, but it is no flag", m[1])
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `-([a-z-]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(text.String(), -1) {
		if fl := f.set.Lookup(m[1]); fl != nil && fl.DefValue != m[2] {
			t.Errorf("-%s: got default %q in the README, want %q", m[1], m[2], fl.DefValue)
		}
	}
}

// The turn that the README shows is one as the journal writes it.
func TestReadmeShowsALineOfTheJournal(t *testing.T) {
	_, rest, _ := strings.Cut(readme(t), "```json\n")
	block, _, _ := strings.Cut(rest, "```")
	var line bytes.Buffer
	if err := json.Compact(&line, []byte(block)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for turn, err := range journal.Read(strings.NewReader(line.String() + "\n")) {
		if err != nil {
			t.Fatal(err)
		}
		if got := string(turn.AppendJSON(nil)); got != line.String() {
			t.Errorf("the README's turn as the journal writes it: got\n%s, want\n%s", got, line.String())
		}
		n++
	}
	if n != 1 {
		t.Errorf("turns in the README: got %d, want 1", n)
	}
}

// Every package is on the map, and the map shows none that is not there.
func TestReadmeMapsTheHouse(t *testing.T) {
	_, rest, _ := strings.Cut(readme(t), "## The house")
	_, rest, _ = strings.Cut(rest, "```\n")
	block, _, _ := strings.Cut(rest, "```")
	drawn := make(map[string]bool)
	for _, line := range strings.Split(block, "\n") {
		if dir, _, ok := strings.Cut(line, " "); ok {
			drawn[dir] = true
		}
	}
	for dir := range drawn {
		if files, _ := filepath.Glob(filepath.Join("../..", dir, "*.go")); len(files) == 0 {
			t.Errorf("%s: got on the map, but it is no package", dir)
		}
	}
	for _, pattern := range []string{"cmd/*/*.go", "cmd/internal/*/*.go", "proxy/*.go", "proxy/*/*.go", "validate/*.go", "validate/*/*.go"} {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			dir, err := filepath.Rel("../..", filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			if !drawn[filepath.ToSlash(dir)] {
				t.Errorf("%s: got no place on the README's map", dir)
				drawn[filepath.ToSlash(dir)] = true
			}
		}
	}
}
