package main

import (
	"os"
	"os/exec"
	"syscall"
)

// detach lets a process outlive this one and its console, and report to the file.
func detach(process *exec.Cmd, reports *os.File) {
	const detachedProcess = 0x8 // DETACHED_PROCESS
	process.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
	process.Stderr = reports
}

// keeperReports is the file of detach, in the process.
func keeperReports() *os.File { return os.Stderr }

// inForeground reports whether this process may draw on a terminal.
func inForeground(*os.File) bool { return true }

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
