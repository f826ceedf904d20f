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

	"turnwatch/proxy/journal"
)

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every test that the README names stands in the package it names it in.
func TestReadmeNamesTestsThatExist(t *testing.T) {
	cell := regexp.MustCompile("([a-z/]+): ((?:`(?:Test|Fuzz)\\w+`(?:, )?)+)")
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

// Every flag in the README is one of ours, and its default is ours.
func TestReadmeNamesFlagsThatExist(t *testing.T) {
	var o options
	f := newFlags(&o)
	foreign := append(flagsOf(t, "cmd/turnreport"), "h", "target", "tags", "json", "request", "path", "fault") // help, docker's, go's, turncheck's and simsglang's
	for _, m := range regexp.MustCompile("`-{1,2}([a-z][a-z0-9-]*)").FindAllStringSubmatch(readme(t), -1) {
		if f.set.Lookup(m[1]) == nil && !slices.Contains(foreign, m[1]) && m[1] != "some-name" {
			t.Errorf("-%s: got in the README, but it is no flag", m[1])
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `-([a-z-]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(readme(t), -1) {
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
