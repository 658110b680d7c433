package waitpolicy

import (
	"time"

	"github.com/queuelock/queuelock/queue"
)

// NamedWithin is how long after a read a holder may grant the lock to the row that it has read: its waiter may leave.
const NamedWithin = 2 * time.Second

// Names reports whether a release may grant the lock by name to the waiter of a row with a lease of ttl that its holder has read
// that long ago. If turns take as long as mean, the waiter must not sleep through the grant.
func Names(mean, ttl, age time.Duration) bool { return age <= NamedWithin && mean <= ttl/8 }

// readAfter is after which time of its turn a holder reads the next row, if it does. Earlier, the waiter may not be there yet, and
// later, the turn may be over.
func readAfter(mean time.Duration) time.Duration { return mean / 2 }

// ReadsNext returns after which time of its turn a holder that has waited, and does not know the next row, reads that. ok is false
// if that is of no use: turns are too short, as a waiter that comes after the grant needs two requests until its row is there, or
// so long that a row with a lease of ttl is not named, and there are no bells.
func (p *Pace) ReadsNext(mean, ttl time.Duration, bells bool) (after time.Duration, ok bool) {
	after = readAfter(mean)
	return after, mean > 0 && mean >= 4*p.trip && (bells || Names(mean, ttl, after))
}

// Lasted returns for how long the present turn has probably lasted. Zero: that is not known. middle is the best guess of
// DynamoDB's clock.
func (p *Pace) Lasted(rec queue.Record, middle, now time.Time) time.Duration {
	return p.observation(rec, 1, time.Time{}, middle, now).Likely
}
