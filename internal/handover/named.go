package handover

import (
	"time"

	"github.com/queuelock/queuelock/waitpolicy"
)

// Names reports whether a release may grant the lock by name to the waiter of a row with a lease of ttl that its holder has read
// that long ago. The waiter may leave meanwhile, and if turns take as long as mean, it may sleep through the grant.
func Names(mean, ttl, age time.Duration) bool { return age <= waitpolicy.NamedWithin && mean <= ttl/8 }

// ReadsNext returns after which time of its turn a holder that has waited, and does not know the next row, reads that. ok is false
// if that is of no use: turns are too short, as a waiter that comes after the grant needs two requests until its row is there, or
// so long that a row with a lease of ttl is not named, and there are no bells.
func ReadsNext(mean, trip, ttl time.Duration, bells bool) (after time.Duration, ok bool) {
	after = mean / 2
	return after, mean > 0 && mean >= 4*trip && (bells || Names(mean, ttl, after))
}
