package main

import (
	"os"
	"os/exec"
	"syscall"
)

func detach(process *exec.Cmd, reports *os.File) {
	const detachedProcess = 0x8 // DETACHED_PROCESS
	process.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
	process.Stderr = reports
}

func keeperReports() *os.File { return os.Stderr }

func inForeground(*os.File) bool { return true }

// userSignals have the meaning that the command gives them: Windows has none.
var userSignals []os.Signal

func shell(text string) []string { return []string{"cmd", "/C", text} }
