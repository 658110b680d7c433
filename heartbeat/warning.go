package heartbeat

import (
	"math"
	"time"
)

// Warning is called when Margin or less is left until the deadline because no renewal
// was confirmed: once for each deadline, and again only after a renewal. A process that
// was paused is warned when it wakes, before the loss is reported. There is no warning
// of an eviction, and none after Stop.
type Warning struct {
	Margin time.Duration // more than zero
	// Func must return at once, and must not call the Keeper.
	Func func()
}

// warning is a Warning and the deadline for which it was given last.
type warning struct {
	Warning
	given time.Time // the deadline of which it warned
}

// due returns the time of the warning before that deadline, and whether it is still to
// be given.
func (w warning) due(deadline time.Time) (time.Time, bool) {
	return deadline.Add(-w.Margin), !w.given.Equal(deadline)
}

// warn gives the warnings that are due. k.mu is held.
func (k *Keeper) warn(now time.Time) {
	for i := range k.warnings {
		w := &k.warnings[i]
		if at, due := w.due(k.deadline); due && !now.Before(at) {
			w.given = k.deadline
			w.Func()
		}
	}
}

// untilAlarm returns the time until the next warning, or the deadline.
func (k *Keeper) untilAlarm() time.Duration {
	if k.config.Endless {
		return math.MaxInt64
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	next := k.deadline
	for _, w := range k.warnings {
		if at, due := w.due(k.deadline); due && at.Before(next) {
			next = at
		}
	}
	return time.Until(next)
}
