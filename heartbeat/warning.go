package heartbeat

import (
	"math"
	"time"
)

// Warning is told when little is left of a lease: when no renewal was
// confirmed, and Margin or less is left until the deadline. It is told once
// for each deadline that comes so near, and again only after a renewal was
// confirmed in between. It is never left out because it is late: a process that
// stood still is warned when it wakes, before the loss is reported if the
// deadline has passed as well. A lease that is lost because the table says so
// (Evicted) is not warned of, nor is one that ends after Stop.
type Warning struct {
	Margin time.Duration // more than zero
	// Func must return at once, and must not call the Keeper.
	Func func()
}

// warning is a Warning and when it was given last.
type warning struct {
	Warning
	given time.Time // the deadline of which it warned
}

// due reports whether the warning is still to be given of that deadline, and
// from when on.
func (w warning) due(deadline time.Time) (time.Time, bool) {
	return deadline.Add(-w.Margin), !w.given.Equal(deadline)
}

// warn gives the warnings that are due at that instant; k.mu is held.
func (k *Keeper) warn(now time.Time) {
	for i := range k.warnings {
		w := &k.warnings[i]
		if at, due := w.due(k.deadline); due && !now.Before(at) {
			w.given = k.deadline
			w.Func()
		}
	}
}

// untilAlarm is the time until the next warning, or the deadline.
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
