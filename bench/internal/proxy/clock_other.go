//go:build !linux

package proxy

import "time"

// clock sleeps by the runtime's timers.
type clock struct{}

func newClock() *clock { return &clock{} }

func (*clock) sleepUntil(due time.Time) { time.Sleep(time.Until(due)) }

func (*clock) close() {}
