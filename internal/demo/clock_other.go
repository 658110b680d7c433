//go:build !linux

package demo

import "time"

// clock reads the host's wall clock: the monotonic one that Go reads elsewhere
// begins anew with each process. If somebody sets the clock while the demo
// runs, its measures are wrong.
func clock() Instant { return Instant(time.Now().UnixNano()) }
