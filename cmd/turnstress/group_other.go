//go:build !unix

package main

import (
	"errors"
	"os/exec"
	"syscall"
)

// startGroup starts nothing: what a server starts in turn could not be ended with it.
func startGroup(*exec.Cmd) error {
	return errors.New("this system has no process groups; run turnstress matrix on Linux, macOS or FreeBSD, or start each server by hand and run turnstress -target")
}

// endGroup has no group to end.
func endGroup(int, syscall.Signal) {}
