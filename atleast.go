package queuelock

import (
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/queue"
)

// HoldAtLeast keeps the queue closed until d after the grant, on DynamoDB's clock, also after an earlier release or a
// crash. No process is needed for it. An Operator.Evict opens the queue. A lock that was never returned to its caller
// keeps nothing closed. Of a semaphore, the permit stays taken. d counts from the request that was granted. At most
// 144 h, in whole milliseconds. It excludes Shared and Lock.Downgrade. The last HoldAtLeast or Every counts.
func HoldAtLeast(d time.Duration) Option {
	return itemOption(func(s *settings) { s.atLeast, s.closes = d, true })
}

// Every lets the lock be granted at most once in d: it is HoldAtLeast by the name of what it is for. With Permits(n)
// it is n times in d. If many processes call it at the same time and none shall wait, give NoWait: the others get a
// [*NotAcquiredError] with NotBefore.
func Every(d time.Duration) Option { return HoldAtLeast(d) }

// validAtLeast checks for how long the queue stays closed.
func (s *settings) validAtLeast() error {
	switch {
	case !s.closes:
		return nil
	case s.atLeast <= 0 || s.atLeast > queue.MaxAtLeast:
		return fmt.Errorf("HoldAtLeast or Every is %v: more than 0 and at most %v are possible", s.atLeast, queue.MaxAtLeast)
	case s.atLeast%time.Millisecond != 0:
		return fmt.Errorf("HoldAtLeast or Every is %v: whole milliseconds are needed", s.atLeast)
	case s.mode.Shared:
		return errors.New("Shared cannot be combined with HoldAtLeast or Every: readers would join a closed queue")
	}
	return nil
}

// notBefore returns the earliest time at which one of the holders lets another one in, if each of them has such a time.
func notBefore(serving []queue.Holder) (at time.Time) {
	for _, h := range serving {
		if h.NotBefore.IsZero() {
			return time.Time{}
		}
		if at.IsZero() || h.NotBefore.Before(at) {
			at = h.NotBefore
		}
	}
	return at
}
