//go:build !windows

package keeper

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// user is part of the name of the user's directory.
func user() string { return strconv.Itoa(os.Getuid()) }

// private reports whether the directory is the user's alone.
func private(dir fs.FileInfo) bool {
	stat, ok := dir.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid() && dir.Mode().Perm()&0o077 == 0
}

// refused reports whether there is no process at a socket.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// parentPoll is how often a process is looked at. No event reports the end of a process
// that is no child.
const parentPoll = 500 * time.Millisecond

// watch calls ended when a process has ended. A process of another user is still there.
func watch(ctx context.Context, process *os.Process, ended func()) {
	look := time.NewTicker(parentPoll)
	defer look.Stop()
	for ctx.Err() == nil {
		if !running(process) {
			ended()
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

func running(process *os.Process) bool {
	err := process.Signal(syscall.Signal(0))
	return !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) && !zombie(process.Pid)
}

// zombie reports whether Linux keeps the id of an ended process for a parent that does not
// ask for its exit code, such as the first process of many containers.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, ok := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return err == nil && ok && strings.HasPrefix(state, "Z")
}

// Running reports whether there is a process of that id.
func Running(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }()
	return running(process)
}
