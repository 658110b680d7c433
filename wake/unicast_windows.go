package wake

import (
	"errors"
	"syscall"
)

// unicast lets the kernel refuse to send to broadcast addresses, which package net allows.
func unicast(_, _ string, c syscall.RawConn) error {
	var refused error
	err := c.Control(func(fd uintptr) {
		refused = syscall.SetsockoptInt(syscall.Handle(fd), syscall.SOL_SOCKET, syscall.SO_BROADCAST, 0)
	})
	return errors.Join(err, refused)
}
