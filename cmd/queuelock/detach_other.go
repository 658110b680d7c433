//go:build !windows

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// detach lets a process outlive this one and its terminal, and report to the file. The
// file is not its standard error: that would stay open as long as the process, and keep
// callers waiting that read to its end.
func detach(process *exec.Cmd, reports *os.File) {
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	process.ExtraFiles = []*os.File{reports}
}

// keeperReports is the file of detach, in the process.
func keeperReports() *os.File { return os.NewFile(3, "standard error of queuelock lock") }
