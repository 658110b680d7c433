//go:build !windows

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// inForeground reports whether this process may draw on a terminal: a shell's job in the
// background would write over what its user types. On a terminal that does not control
// this process there are no jobs.
func inForeground(file *os.File) bool {
	group, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
