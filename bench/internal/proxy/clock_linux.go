package proxy

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// clock sleeps by a timer of the kernel. The Go runtime waits for its own timers in
// whole milliseconds, which is too coarse beside a round trip of four.
type clock struct {
	fd    int
	timer *os.File // nil if the kernel has none: time.Sleep then
}

func newClock() *clock {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return &clock{}
	}
	return &clock{fd: fd, timer: os.NewFile(uintptr(fd), "timer")}
}

func (c *clock) sleepUntil(due time.Time) {
	left := time.Until(due)
	if left <= 0 {
		return
	}
	if c.timer == nil {
		time.Sleep(left)
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}
	if unix.TimerfdSettime(c.fd, 0, &spec, nil) != nil {
		time.Sleep(left)
		return
	}
	var expirations [8]byte
	if _, err := c.timer.Read(expirations[:]); err != nil {
		time.Sleep(time.Until(due))
	}
}

func (c *clock) close() {
	if c.timer != nil {
		_ = c.timer.Close()
	}
}
