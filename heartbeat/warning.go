package heartbeat

import "time"

// Warning is called when Margin or less is left until the deadline because no renewal
// was confirmed: once for each deadline, and again only after a renewal. A process that
// was paused is warned when it wakes, before the loss is reported. There is no warning
// of an eviction, and none after Stop.
type Warning struct {
	Margin time.Duration // more than zero
	// Func must return at once, and must not call the Keeper.
	Func func()
}

type warning struct {
	Warning
	given time.Time // the deadline of which it warned last
}

// warn gives the warnings that are due. k.mu is held.
func (k *Keeper) warn(now time.Time) {
	for i := range k.warnings {
		w := &k.warnings[i]
		if !w.given.Equal(k.deadline) && !now.Before(k.deadline.Add(-w.Margin)) {
			w.given = k.deadline
			w.Func()
		}
	}
}

// untilAlarm returns the time until the next warning, or the deadline. k.mu is held.
func (k *Keeper) untilAlarm() time.Duration {
	next := k.deadline
	for _, w := range k.warnings {
		if at := k.deadline.Add(-w.Margin); !w.given.Equal(k.deadline) && at.Before(next) {
			next = at
		}
	}
	return time.Until(next)
}
