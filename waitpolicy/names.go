package waitpolicy

import (
	"time"

	"github.com/queuelock/queuelock/queue"
)

// NamedWithin is how long after a read a holder may grant the lock to the row that it has read: its waiter may leave.
const NamedWithin = 2 * time.Second

// ReadsNext returns after which time of its turn a holder that has waited, and does not know the next row, reads that. Earlier, the
// waiter may not be there yet, and later, the turn may be over. ok is false if that is of no use: turns are too short, as a waiter
// that comes after the grant needs two requests until its row is there, or so long that the row is not named, and there are no
// bells.
func (p *Pace) ReadsNext(mean time.Duration, bells bool) (after time.Duration, ok bool) {
	after = mean / 2
	return after, mean > 0 && mean >= 4*p.trip && (bells || after <= NamedWithin)
}

// Lasted returns for how long the present turn has probably lasted. Zero: that is not known. middle is the best guess of
// DynamoDB's clock.
func (p *Pace) Lasted(rec queue.Record, middle, now time.Time) time.Duration {
	return p.observation(rec, 1, time.Time{}, middle, now).Likely
}
