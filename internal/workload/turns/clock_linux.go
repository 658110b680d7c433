package turns

import (
	"syscall"
	"unsafe"
)

// clockMonotonic is CLOCK_MONOTONIC of clock_gettime(2). All processes of a host
// share it, it continues while one of them is stopped, and it cannot be set.
const clockMonotonic = 1

// Now reads the host's monotonic clock.
func Now() Instant {
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic("every Linux has a monotonic clock: " + errno.Error())
	}
	return Instant(ts.Nano())
}
