package heartbeat

import "time"

// Warning is called when Margin or less is left until the deadline because no renewal was confirmed: once for each
// deadline, and again only after a renewal. A process that was paused is warned when it wakes, before the loss is
// reported. There is no warning of an eviction, and none after Stop.
type Warning struct {
	Margin time.Duration // more than zero
	// Func must return at once, and must not call the Keeper.
	Func func()
}
