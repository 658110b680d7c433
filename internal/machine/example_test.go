package machine_test

import (
	"fmt"

	"github.com/queuelock/queuelock/internal/machine"
)

// The phases of a held lock.
func ExampleMoves() {
	for _, m := range machine.Moves() {
		if m.From == machine.PhaseReleasing {
			fmt.Printf("%s to %s: %s\n", m.From, m.To, m.When)
		}
	}
	// Output:
	// releasing to released: the record shows that a call of the holder released the lock, or the next turn of its block has begun
	// releasing to cleared: the record shows that the lock was lost, and an entry that was left is removed
	// releasing to unknown: the lock is not in the record, and the marks of its end were replaced
}
