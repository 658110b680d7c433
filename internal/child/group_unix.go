//go:build unix

package child

import (
	"errors"
	"os"
	"syscall"
)

// group is a process group, by the id of its leader.
type group struct{}

func (group) prepare(attr *syscall.SysProcAttr) {
	attr.Setpgid = true
	dieWithParent(attr)
}

func (group) started(*os.Process) error { return nil }

func (group) signal(leader int, sig syscall.Signal) error {
	err := syscall.Kill(-leader, sig)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

func (group) gone(leader int) bool { return errors.Is(syscall.Kill(-leader, 0), syscall.ESRCH) }
