package search

import (
	"slices"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/queue"
)

// Plant is a planted mistake, which a search must find: a condition or a change that is left out of a write as it is sent, or
// another one.
type Plant struct {
	Write, Condition string
	Change           string
	Mistake          Mistake
	// Skips says that one transition of a wait is replaced by the most plausible mistake in its place: see instead.
	Skips    bool
	From, To queue.Doing
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

// Mistake is a mistake of a driver of the machines, or a transition of theirs that is skipped.
type Mistake string

// The mistakes.
const (
	RowLeft          Mistake = "a grant by name is accepted after its row was deleted"
	RowEarly         Mistake = "the row is deleted after an acceptance without an answer"
	RowGone          Mistake = "a grant by name is used though the row is being deleted"
	NameEnds         Mistake = "a grant by name that is not accepted ends with its own lease"
	NameRemoved      Mistake = "a waiter that looks late removes its grant by name"
	NotNext          Mistake = "a release names a row that is not the next"
	PassNotNext      Mistake = "a release passes the lock to a waiter that is not the next"
	NoReset          Mistake = "no RESET is sent"
	LateGrant        Mistake = "a grant is used after its lease"
	LateName         Mistake = "a grant by name is used after the lease of the row"
	EarlyEnd         Mistake = "leases of others are judged to have ended at any time"
	NoRemoval        Mistake = "ids of unknown outcome are not removed"
	StillHolds       Mistake = "a holder relies on its lock until its release is answered"
	StillAlone       Mistake = "a holder relies on being alone until its downgrade is answered"
	StillOpen        Mistake = "a holder relies on its lock after an update without an answer"
	NotUpdated       Mistake = "an update without an answer counts as not made"
	PlainRead        Mistake = "x is read plainly after an eviction"
	LastGrant        Mistake = "x is read plainly if the turn before was released"
	OpenOnce         Mistake = "the next release removes what says that a transaction is unsettled"
	MadeVisible      Mistake = "a transaction counts as visible once the record shows its number"
	ReleaseInTx      Mistake = "the release is an item of the transaction"
	ReleaseEarly     Mistake = "a release does not wait for the transaction under way"
	ReleaseUnsettled Mistake = "a lock is released as usual after a transaction of unknown outcome"
	ReleaseRefused   Mistake = "the same after a transaction whose attempts were all refused"
	NextUnsettled    Mistake = "the next transaction settles one of unknown outcome"
	NextRefused      Mistake = "the next transaction settles one whose attempts were all refused"
	NoToken          Mistake = "a transaction has a number, and no token"
	SettleSame       Mistake = "SETTLE writes the number of the transaction itself"
	NoDelay          Mistake = "others do not wait for the lock delay"
	NoClosing        Mistake = "others do not wait until a queue opens"
	NotClosed        Mistake = "a release opens the queue"
	RemoveOnLoss     Mistake = "the holder removes its entry when it learns of its loss"
	SameCall         Mistake = "all release calls of a lock have one number"
	LineOlder        Mistake = "the waiters of a client share a record that is older"
	TakesOlder       Mistake = "a waiter takes over a record that is older"
	NoAdvance        Mistake = "the next turn of a block begins without ADVANCE"
	AdvanceEarly     Mistake = "it begins before the answer to ADVANCE"
	AdvanceOnce      Mistake = "ADVANCE counts as applied without an answer"
	OldCondition     Mistake = "the condition of a lock that was released in its block is that of the entry"
	NewInBlock       Mistake = "a new caller gets the turn after those of the block"
	BackTwice        Mistake = "the callers of a lost block are given back twice"
	NotBack          Mistake = "they are not given back"
	ResetFirst       Mistake = "RESET after a block allows its first ticket alone"
	Continues        Mistake = "the next turn of a block begins after its loss"
	SameToken        Mistake = "all turns of a block have the ticket of the entry"
	GoneServed       Mistake = "a caller of a block that has given up gets its turn"
	ComputesAgain    Mistake = "a caller that is granted the lock computes although the record has a result"
	ResultLater      Mistake = "a result is left by a write after the release"
	CountsOnce       Mistake = "a waiter counts those ahead before its row, and not after"
	DeadCount        Mistake = "rows whose lease has ended count"
	OnlyAhead        Mistake = "a waiter that a later one supersedes sees only the rows ahead"
	PassesLatest     Mistake = "a release passes the lock to such a waiter"
	NamesLatest      Mistake = "a release names such a waiter"
	AsksAll          Mistake = "a waiter asks holders of other groups to give way"
	AsksAgain        Mistake = "it asks one at each look"
	NotApplied       Mistake = "a request without an answer counts as not applied"
)
