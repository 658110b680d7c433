//go:build !windows

package main

import (
	"os"
	"syscall"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/process"
)

// userSignals have the meaning that the command gives them.
var userSignals = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2}

// signalName returns the name of a signal, such as SIGTERM.
func signalName(sig syscall.Signal) string { return process.SignalName(sig) }

// shell returns the command that runs a text of run -c.
func shell(text string) []string { return []string{"/bin/sh", "-c", text} }
