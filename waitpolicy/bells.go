package waitpolicy

import "time"

// NamedWithin is how long after a read a holder may grant the lock to the row that it has read: its waiter may leave.
const NamedWithin = 2 * time.Second

// ReadsNext returns how far into its turn a holder reads the next row, if it has waited and does not know that row.
// Earlier, the next waiter may not be there yet, and later, the turn may be over. ok is false if the read is of no
// use. It is of none if turns are too short: a waiter that comes after the grant needs two requests until its row is
// there. Without bells it is of none either if turns are so long that the row would not be named.
func (p *Pace) ReadsNext(mean time.Duration, bells bool) (after time.Duration, ok bool) {
	after = mean / 2
	return after, mean > 0 && mean >= 4*p.trip && (bells || after <= NamedWithin)
}

// MaxEarly is how often the next in line looks again after a bell whose turn has not ended. A bell goes out with its
// release, and may be faster.
const MaxEarly = 3

// Rung is what a waiter knows of its bell.
type Rung struct {
	Times   int           // since the last look that showed a change
	Early   int           // looks since then that showed none
	Last    time.Time     // when it was rung last
	Trust   int           // above zero: the last turn that should have rung it has; below: it was rung so often in vain
	Stagger time.Duration // from the bell to the request that finds its release applied
}

// backoff returns the time between two requests after so many bells in vain.
func (s Schedule) backoff(n int) time.Duration { return min(s.Fastest<<(2*n), s.SlowestNext) }

// Heed returns when a sleep ends after a bell, at the latest at until, and whether the bell ends it. A bell ends it
// once the release has probably been applied, and later after bells in vain. A waiter that is rung is next, whatever
// it has seen.
func (p *Pace) Heed(s Schedule, r Rung, until time.Time) (at time.Time, heeded bool) {
	at = r.Last.Add(r.Stagger)
	if next := p.last.Add(s.backoff(-min(r.Trust, 0))); at.Before(next) {
		at = next
	}
	if until.Before(at) {
		return until, false
	}
	return at, true
}
