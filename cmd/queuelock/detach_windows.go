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
