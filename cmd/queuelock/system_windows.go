package main

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
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

// errLocked is the error of lockFile for a file that another process has locked.
const errLocked = windows.ERROR_LOCK_VIOLATION

// lockFile locks a file for this process alone. The end of the process unlocks it.
func lockFile(file *os.File) error {
	const now = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(file.Fd()), now, 0, 1, 0, new(windows.Overlapped))
}

func shell(text string) []string { return []string{"cmd", "/C", text} }
