package scenario

import (
	"syscall"
	"time"
)

// processorSeconds returns what this process has used so far.
func processorSeconds() float64 {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, ended, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &ended, &kernel, &user); err != nil {
		return 0
	}
	// The durations are numbers of 100 ns. Filetime.Nanoseconds is for instants.
	ticks := func(t syscall.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return (time.Duration(ticks(kernel)+ticks(user)) * 100).Seconds()
}
