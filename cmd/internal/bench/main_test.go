package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"turnwatch/proxy/leaktest"
)

// asServer is the variable with which a test starts itself as the server.
const asServer = "TURNBENCH_TEST_SERVER"

// program is turnwatch, built once for all tests.
var program string

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		if err := Inherited(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(withTurnwatch(m))
}

func withTurnwatch(m *testing.M) int {
	dir, err := os.MkdirTemp("", "turnbench")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "turnwatch")
	build := exec.Command("go", "build", "-o", program, "turnwatch/cmd/turnwatch")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as images have it
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build turnwatch: %v: %s", err, out))
	}
	return leaktest.Run(m)
}
