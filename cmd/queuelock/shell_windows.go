package main

import (
	"os"
	"syscall"
)

// userSignals have the meaning that the command gives them: Windows has none.
var userSignals []os.Signal

// shell returns the command that runs a text of run -c.
func shell(text string) []string { return []string{"cmd", "/C", text} }

// signalName returns the name of a signal, such as SIGTERM.
func signalName(sig syscall.Signal) string {
	return map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGTERM: "SIGTERM",
	}[sig]
}
