//go:build unix

package scenario

import (
	"syscall"
	"time"
)

// processorSeconds returns what this process has used so far.
func processorSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return time.Duration(t.Nano()).Seconds() }
	return seconds(used.Utime) + seconds(used.Stime)
}
