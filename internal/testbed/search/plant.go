package search

import (
	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/queue"
)

// Plant is a planted mistake, which a search must find: a condition that is left out of a write as it is sent, or another one.
type Plant struct {
	Write, Condition string
	Mistake          Mistake
	// Skips says that one transition of a wait is replaced by the most plausible mistake in its place: see instead.
	Skips    bool
	From, To queue.Doing
}

// change returns the write as it is sent.
func (p Plant) change(w clause.Write) clause.Write {
	if w.Name == p.Write {
		w, _ = w.Without(p.Condition)
	}
	return w
}

// Mistake is a mistake of a driver of the machines, or a transition of theirs that is skipped.
type Mistake string

// The mistakes.
const (
	RowLeft     Mistake = "a grant by name is accepted after its row was deleted"
	RowEarly    Mistake = "the row is deleted after an acceptance without an answer"
	RowGone     Mistake = "a grant by name is used though the row is being deleted"
	NotNext     Mistake = "a release names a row that is not the next"
	PassNotNext Mistake = "a release passes the lock to a waiter that is not the next"
	NoReset     Mistake = "no RESET is sent"
	LateGrant   Mistake = "a grant is used after its lease"
	LateName    Mistake = "a grant by name is used after the lease of the row"
	EarlyEnd    Mistake = "leases of others are judged to have ended at any time"
	NoRemoval   Mistake = "ids of unknown outcome are not removed"
	StillHolds  Mistake = "a holder relies on its lock until its release is answered"
	LineOlder   Mistake = "the waiters of a client share a record that is older"
	TakesOlder  Mistake = "a waiter takes over a record that is older"
	NotApplied  Mistake = "a request without an answer counts as not applied"
)
