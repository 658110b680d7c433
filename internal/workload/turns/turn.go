package turns

import "github.com/queuelock/queuelock/ticket"

// Turn is one Acquire of one worker, and the lock that it returned, if it did.
type Turn struct {
	Worker, Entity string

	Asked Instant // before Acquire was called
	Waits bool    // in the queue, if it has to
	// Took is before the request was sent that took the granted number, or Asked
	// if that is not known.
	Took   Instant
	Places []Place // rows that were present for it, in order
	Denied Instant // Acquire returned an error

	Ticket  ticket.Number
	Granted Instant // after Acquire had returned; zero: it was not granted
	// From and Until are when the lock was first and last asked whether it is
	// held, and said that it is. Zero: it never did, or that is not known.
	From, Until Instant
	Doubted     Instant // when it was first asked and said that it is not
	Ended       Instant // before Release was called; zero: not known
	Followed    bool    // a later turn of its block has begun in memory

	Gone     Instant // when the process was gone, if it ended in this turn
	KilledAt Instant // before it was killed, if it was
}

// Place is the life of a row.
type Place struct {
	Ticket ticket.Number
	Stood  Instant // present since then, or longer
	Until  Instant // and until then, or longer, if the process lived
}

// Over returns when Acquire returned, or when its process was gone. Zero: not yet.
func (t *Turn) Over() Instant {
	switch {
	case t.Granted != 0:
		return t.Granted
	case t.Denied != 0:
		return t.Denied
	}
	return t.Gone
}

// Holding reports whether the turn was granted and its end is not known.
func (t *Turn) Holding() bool { return t.Granted != 0 && t.Ended == 0 && t.Gone == 0 }

// Waiting reports whether Acquire is under way.
func (t *Turn) Waiting() bool { return t.Over() == 0 }

// Lost reports whether the lock was lost before the turn was over.
func (t *Turn) Lost() bool { return t.Doubted != 0 }

// queuedBefore reports whether a row of the turn was present at that instant.
func (t *Turn) queuedBefore(at Instant) bool {
	for _, p := range t.Places {
		if p.Stood < at && p.Ticket == t.Ticket {
			return true
		}
	}
	return false
}
