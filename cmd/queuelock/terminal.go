package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"unsafe"
)

// terminal is the terminal that was lent to a command; nil: none was.
type terminal struct{ file *os.File }

// foreground lends the terminal to a command that is about to be started, if the
// command's standard input and output both are it, and if this process is in its
// foreground. Otherwise a command that reads the terminal would be stopped by SIGTTIN,
// being in a group of its own. In a pipeline the other commands would be stopped if the
// terminal were taken from them. restore must be called when the command has ended.
//
// SIGTSTP is ignored meanwhile, and the command inherits that: Ctrl-Z would stop the
// command alone, with no process left in the foreground to go on, while its lease runs.
func foreground(command *exec.Cmd) *terminal {
	in, ok := command.Stdin.(*os.File)
	if !ok {
		return nil
	}
	out, ok := command.Stdout.(*os.File)
	if !ok {
		return nil
	}
	group, err := foregroundGroup(in)
	if err != nil || group != syscall.Getpgrp() {
		return nil
	}
	if _, err := foregroundGroup(out); err != nil {
		return nil
	}
	command.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: int(in.Fd())}
	signal.Ignore(syscall.SIGTSTP)
	return &terminal{in}
}

// restore takes the terminal back. To do so from the background would stop
// this process, unless SIGTTOU is ignored.
func (t *terminal) restore() {
	if t == nil {
		return
	}
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU, syscall.SIGTSTP)
	group := int32(syscall.Getpgrp())
	_ = control(t.file, syscall.TIOCSPGRP, &group) // it may have been hung up
}

// foregroundGroup is the process group in the foreground of a terminal; an
// error if the file is not this process's terminal.
func foregroundGroup(file *os.File) (int, error) {
	var group int32
	err := control(file, syscall.TIOCGPGRP, &group)
	return int(group), err
}

// control is ioctl(2) for a terminal's group.
func control(file *os.File, request uintptr, group *int32) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), request, uintptr(unsafe.Pointer(group))); errno != 0 {
		return errno
	}
	return nil
}
