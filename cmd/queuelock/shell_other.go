//go:build !windows

package main

import (
	"os"
	"syscall"
)

// userSignals have the meaning that the command gives them.
var userSignals = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2}

// shell returns the command that runs a text of run -c.
func shell(text string) []string { return []string{"/bin/sh", "-c", text} }
