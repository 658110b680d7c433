package queue

import (
	"slices"
	"time"

	"github.com/queuelock/queuelock/ticket"
)

// Ending describes the release of a lock.
type Ending struct {
	ID       string
	Ticket   ticket.Number
	Turns    int      // how many tickets its block has; zero: one
	Call     int64    // number of the release call; repeats of one call have the same
	HoldTime HoldTime // of recent hold times, this one included; not written to a user's item
	// Unsettled is a time to add to Marks.Unsettled. Zero: none; then Settled are removed.
	Unsettled time.Time
	Replaces  bool // no other holder can have added a time: Unsettled is the only one left
	// Bounded asks that the set has fewer than MaxUnsettled times, or is Crowd, which Unsettled then replaces: see Add.
	Bounded bool
	Crowd   []time.Time
	Settled []time.Time
	// Unmade asks that the holder's fenced transaction of this number, and later ones, were not made. A copy of a refused
	// one may arrive late, and must not commit unnoticed while the lock is released. Zero: there is none.
	Unmade int64
	Next   Next    // for FormPass
	Closed *Closed // for FormClose
	// Result is left in the record; nil: that of an earlier holder stays.
	Result *Result
	Lost   bool // the lock is known to be lost, and what is left of it is removed
}

// Add makes the release add a time to those that the record had when it was read. If they are many, it replaces them
// by one that is later than all. That one must not be in the record yet: a holder removes the times that were there
// before its turn, and must not remove this one.
func (e *Ending) Add(at time.Time, read []time.Time) {
	e.Unsettled, e.Crowd = at, nil
	if len(read) < MaxUnsettled || !e.Bounded || e.Replaces {
		return
	}
	e.Crowd = read
	if last := slices.MaxFunc(read, time.Time.Compare); !at.After(last) {
		e.Unsettled = last.Add(time.Millisecond)
	}
}

// Next is the waiter that FormPass grants the lock to.
type Next struct {
	Entry  Entry
	Ticket ticket.Number
	New    bool // it has no ticket yet: the release takes it, if none is outstanding (RETAKE)
}

// Form is one of the forms of RELEASE. Each asks that the holder is in the record with its ticket, removes it, and
// leaves a mark (Released). So at most one of any number of requests of any form is applied, however late.
type Form int

// The forms.
const (
	// FormFast removes holders, so that the next TAKE is served at once. It asks that the holder is alone, and that no
	// ticket is outstanding in the table, whatever the holder last saw.
	FormFast Form = iota + 1
	// FormHandOff removes the entry alone. {} is left if it was the last, and the first waiter may claim.
	FormHandOff
	// FormPass also claims the lock for Ending.Next: RELEASE and CLAIM in one write, for a waiter of the same client, or
	// for one that it names by its row. Only an exclusive holder may pass the lock, to the ticket after its own, because
	// no other waiter can be between the two.
	FormPass
	// FormClose replaces the entry by one that keeps the queue closed, of no holder.
	FormClose
)

// Fast reports whether the fast form of RELEASE is possible for the holder id with
// ticket t, and so many tickets from that on.
func (r Record) Fast(id string, t ticket.Number, turns int) bool {
	return r.meets(Ending{ID: id, Ticket: t, Turns: turns}.leaves(FormFast))
}

// CanIdle reports whether Reset with FirstServed would be applied: holders is {}, and no ticket is outstanding. It is
// false of a record that is idle already.
func (r Record) CanIdle() bool { return r.Resettable(r.FirstServed()) }

// Resettable reports whether Reset would be applied with ticket t.
func (r Record) Resettable(t ticket.Number) bool {
	return r.meets(Reset(t, time.Time{}))
}
