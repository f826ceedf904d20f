//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// startGroup starts a command in a group of its own.
func startGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Start()
}

// endGroup sends sig to all of a group.
func endGroup(group int, sig syscall.Signal) { syscall.Kill(-group, sig) }
