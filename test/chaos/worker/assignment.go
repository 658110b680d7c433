package worker

import "time"

// Assignment is what a worker is to do: the first line on its standard input.
type Assignment struct {
	Name      string
	Table     string
	Entities  []string
	Home      int // index of the entity for which it asks most of the time
	Seed      uint64
	TTL       time.Duration
	WaiterTTL time.Duration
	// LongestTurn bounds a turn's work, whose lower bound is a twentieth of that.
	LongestTurn time.Duration
	// Unfenced is a planted mistake: the worker does not ask whether it still
	// holds the lock, and writes without the fence.
	Unfenced bool
}
