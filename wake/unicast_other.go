//go:build !unix && !windows

package wake

import (
	"errors"
	"syscall"
)

// unicast keeps bells from being rung where broadcast addresses cannot be refused.
func unicast(string, string, syscall.RawConn) error { return errors.ErrUnsupported }
