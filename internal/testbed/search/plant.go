package search

import (
	"slices"

	"github.com/queuelock/queuelock/internal/clause"
)

// Plant is a planted mistake, which a search must find: a condition or a change that is left out of a write as it is sent, or
// another one.
type Plant struct {
	Write, Condition string
	Change           string
	Mistake          Mistake
}

// change returns the write as it is sent.
func (p Plant) change(w clause.Write) clause.Write {
	if w.Name != p.Write {
		return w
	}
	if p.Condition != "" {
		w, _ = w.Without(p.Condition)
	}
	for i, change := range w.Changes() {
		if change == p.Change {
			w.Do = slices.Delete(slices.Clone(w.Do), i, i+1)
			break
		}
	}
	return w
}

// Mistake is a mistake of what is beside the members: of what packages heartbeat and waitpolicy say of time, of callers, and of
// programs that send. Those of the members are planted in their source: see planted_test.go.
type Mistake string

// The mistakes.
const (
	NameEnds      Mistake = "a grant by name that is not accepted ends with its own lease"
	NotNext       Mistake = "a holder reads a row that is not the next"
	LateGrant     Mistake = "a grant is used after its lease"
	LateName      Mistake = "a grant by name is used after the lease of the row"
	EarlyEnd      Mistake = "leases of others are judged to have ended at any time"
	StillHolds    Mistake = "a holder relies on its lock until its release is answered"
	StillAlone    Mistake = "a holder relies on being alone until its downgrade is answered"
	StillOpen     Mistake = "a holder relies on its lock after an update without an answer"
	NotUpdated    Mistake = "an update without an answer counts as not made"
	PlainRead     Mistake = "x is read plainly after an eviction"
	OpenOnce      Mistake = "the next release removes what says that a transaction is unsettled"
	NoToken       Mistake = "a transaction has a number, and no token"
	NoDelay       Mistake = "others do not wait for the lock delay"
	NoClosing     Mistake = "others do not wait until a queue opens"
	ComputesAgain Mistake = "a caller that is granted the lock computes although the record has a result"
	ResultLater   Mistake = "a result is left by a write after the release"
	DeadCount     Mistake = "rows whose lease has ended count"
	AsksAll       Mistake = "a waiter asks holders of other groups to give way"
	AsksAgain     Mistake = "it asks one at each look"
	NotApplied    Mistake = "a request without an answer counts as not applied"
)
