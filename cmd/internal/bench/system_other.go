//go:build !unix

package bench

import (
	"errors"
	"os"
)

var errSystem = errors.New("turnbench measures on Linux, macOS and FreeBSD alone")

func mapFile(*os.File, int) ([]byte, error) { return nil, errSystem }

func unmapFile([]byte) {}

func openFiles() (int, error) { return 0, errSystem }
