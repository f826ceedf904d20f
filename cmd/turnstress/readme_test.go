package main

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every flag that the README's section, or the page here, names is one of ours.
func TestReadmeNamesFlagsThatExist(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n## Reproduce it")
	section, _, _ = strings.Cut(section, "\n## ")
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	section += string(page)
	ours := flag.NewFlagSet("", flag.ContinueOnError)
	new(runOptions).define(ours)
	theirs := flag.NewFlagSet("", flag.ContinueOnError)
	new(matrixOptions).define(theirs)
	plan := []string{"detect", "h"}
	named := regexp.MustCompile(`(?m)(?:^|[ (\x60])-([a-z][a-z-]+)`).FindAllStringSubmatch(section, -1)
	if len(named) < 30 {
		t.Errorf("%d flags in the section", len(named))
	}
	for _, m := range named {
		if name := m[1]; ours.Lookup(name) == nil && theirs.Lookup(name) == nil && !strings.Contains(strings.Join(plan, " "), name) {
			t.Errorf("-%s: got in the README, but it is no flag", name)
		}
	}
}
