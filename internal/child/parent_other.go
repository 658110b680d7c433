//go:build unix && !linux

package child

import "syscall"

// dieWithParent does nothing: only Linux sends a signal when the parent dies.
func dieWithParent(*syscall.SysProcAttr) {}
