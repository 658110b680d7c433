package engines

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the command when the thread that started it ends.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
