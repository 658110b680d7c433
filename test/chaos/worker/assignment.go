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
	Callers     int     // goroutines that take turns
	Mistake     Mistake // that is planted
}

// Mistake is one that the judges must find.
type Mistake string

// The mistakes. Correct workers have none.
const (
	// Unfenced workers do not ask whether they still hold the lock, and write
	// without the fence.
	Unfenced Mistake = "unfenced"
	// Late workers make some writes without the fence after they have released the
	// lock, and only if a later turn of the block has begun.
	Late Mistake = "late"
)
