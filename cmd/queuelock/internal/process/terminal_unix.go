//go:build unix

package process

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// WantsTerminal reports whether a command that the signal stopped needs the terminal.
func WantsTerminal(sig syscall.Signal) bool { return sig == unix.SIGTTIN || sig == unix.SIGTTOU }

// SignalName is a signal as kill(1) names it.
func SignalName(sig syscall.Signal) string { return unix.SignalName(sig) }

// Terminal is the terminal of this process, which it can lend to a command.
type Terminal struct {
	file  *os.File // nil: there is none
	modes *term.State
	lent  bool
}

// OpenTerminal opens the terminal of this process, if it has one. Until Close, the
// terminal does not stop this process: its leases would end meanwhile.
func OpenTerminal() *Terminal {
	signal.Ignore(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	file, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return &Terminal{}
	}
	t := &Terminal{file: file}
	if t.inFront() {
		t.modes, _ = term.GetState(int(file.Fd()))
	}
	return t
}

// Interactive reports whether a command with these files is best started with the
// terminal: both are the terminal, and this process is in the foreground of it. In a
// pipeline the other commands may need it.
func (t *Terminal) Interactive(stdin, stdout any) bool {
	in, ok := stdin.(*os.File)
	if !ok {
		return false
	}
	out, ok := stdout.(*os.File)
	if !ok || !t.inFront() {
		return false
	}
	_, errIn := unix.IoctlGetInt(int(in.Fd()), unix.TIOCGPGRP)
	_, errOut := unix.IoctlGetInt(int(out.Fd()), unix.TIOCGPGRP)
	return errIn == nil && errOut == nil // an error for other files, and other terminals
}

func (t *Terminal) inFront() bool {
	if t.file == nil {
		return false
	}
	group, err := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// Started notes that a command was started with the terminal.
func (t *Terminal) Started() { t.lent = true }

// Lend gives the terminal to a group, and reports whether it could: in the background it is not this process's to give.
func (t *Terminal) Lend(group int) bool {
	if !t.lent && !t.inFront() || t.give(group) != nil {
		return false
	}
	t.lent = true
	return true
}

// TakeBack takes the terminal back if it was lent.
func (t *Terminal) TakeBack() {
	if t.lent {
		_ = t.give(unix.Getpgrp()) // it may have been hung up
		t.lent = false
	}
}

// Restore sets the modes that the terminal had, such as the echo of what is typed, which a
// command that was killed may have left switched off. Call it before TakeBack.
func (t *Terminal) Restore() {
	if t.lent && t.modes != nil {
		_ = term.Restore(int(t.file.Fd()), t.modes)
	}
}

func (t *Terminal) give(group int) error {
	return unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, group)
}

// Close takes the terminal back, and lets it stop this process again.
func (t *Terminal) Close() {
	t.TakeBack()
	signal.Reset(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	if t.file != nil {
		_ = t.file.Close()
	}
}
