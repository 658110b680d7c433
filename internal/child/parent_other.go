//go:build unix && !linux

package child

import "syscall"

// dieWithParent does nothing: only Linux knows a signal at a parent's death.
func dieWithParent(*syscall.SysProcAttr) {}
