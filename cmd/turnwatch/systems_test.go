//go:build e2e || systems

package main

import (
	"os"
	"testing"

	"golang.org/x/tools/go/packages"
)

// Types are checked from source, which takes a tenth of the time that it takes to
// compile all of it for each system.
func TestCommandsBuildOnEachSystem(t *testing.T) {
	for _, system := range []string{"darwin", "freebsd", "windows"} {
		cfg := &packages.Config{Mode: packages.LoadSyntax | packages.NeedDeps, Dir: "../..",
			Env: append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")}
		all, err := packages.Load(cfg, "./...")
		if err != nil || len(all) < 20 {
			t.Fatalf("%s: got %d packages, %v", system, len(all), err)
		}
		packages.Visit(all, nil, func(p *packages.Package) {
			for _, err := range p.Errors {
				t.Errorf("%s: %v", system, err)
			}
		})
	}
}
