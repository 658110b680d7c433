package queuelock

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/ticket"
)

// Condition is a check on the lock's serving record, for a TransactWriteItems
// of the caller's own: the transaction commits only while the lock is held,
// whatever the caller's clock says. It makes no request, and works on after
// the lock has ended: the transaction is then cancelled, with
// ConditionalCheckFailed as the reason of this item. Transact is easier.
//
// It costs two write units, as each item of a transaction does, needs the
// permission dynamodb:ConditionCheckItem, and conflicts for the moment with
// the lock's own heartbeat: DynamoDB then cancels the transaction with
// TransactionConflict, and it may be sent again.
//
// Made while the lock is exclusive, the check also asks that no later ticket was
// granted: after Downgrade it fails once another has joined.
func (l *Lock) Condition() types.ConditionCheck { return l.session.Condition() }

// maxTransactItems is how many items of the caller's fit beside the check.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const maxTransactItems = 99

// Transact makes the writes, all or none, only if the lock is still held when
// they are made. Items are as DynamoDB defines them, 99 at most, in any tables of
// the region; none may be the lock's own record.
//
// It returns nil if the writes were made, once. Returns
//
//   - an error that matches ErrLost or ErrReleased if the lock had ended. Nothing
//     was written.
//   - an error that matches *types.TransactionCanceledException if one of the
//     items stood in the way. Its reasons are in the order of the items. Nothing
//     was written.
//   - *UnknownOutcomeError if an attempt had no answer and the table could not be
//     asked. The writes may have been made, or may yet be while the lock is held. It
//     never matches ErrLost.
//   - any other error if the table failed, or ctx had ended. Nothing was written.
//
// Conflicts, throttles and lost answers are retried until ctx or the lock ends.
// The transaction has a number, which it writes into the lock's entry, so it is
// made once however often and however late it arrives. Transactions of one lock
// are made one after another.
//
// One request, a TransactWriteItems of the items and the lock's record: four write
// units for one item. One more if the last attempt had no answer.
func (l *Lock) Transact(ctx context.Context, items ...types.TransactWriteItem) error {
	if err := validItems("Transact", items); err != nil {
		return err
	}
	return l.session.Transact(ctx, items...)
}

func validItems(what string, items []types.TransactWriteItem) error {
	if len(items) == 0 || len(items) > maxTransactItems {
		return fmt.Errorf("queuelock: %s: %d items: between 1 and %d are possible", what, len(items), maxTransactItems)
	}
	return nil
}

// maxReadItems is how many items one Get may name.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
const maxReadItems = 100

// Get reads items that the lock protects, by one TransactGetItems, and returns
// them in order; one that is missing is nil. It sees every fenced transaction of
// earlier holders that will ever be made.
//
// DynamoDB makes the items of a transaction visible one after another, and a
// GetItem meanwhile returns the old value, also a consistent one. A consistent
// GetItem is enough unless Unsettled returns true: a transaction of an earlier
// holder may then still be under way. Get conflicts with it, and is retried until
// ctx or the lock ends.
//
// Returns an error that matches ErrLost or ErrReleased if the lock has ended, and
// any other error if the table failed.
//
// One request, of two read units for each item of up to 4 KB. At most 100 items.
func (l *Lock) Get(ctx context.Context, items ...types.TransactGetItem) ([]map[string]types.AttributeValue, error) {
	if len(items) == 0 || len(items) > maxReadItems {
		return nil, fmt.Errorf("queuelock: Get: %d items: between 1 and %d are possible", len(items), maxReadItems)
	}
	return l.session.Get(ctx, items)
}

// Eviction is a turn that did not end by a release: its holder was evicted, or
// another process resumed its lock.
type Eviction struct {
	Ticket ticket.Number
	// At is when it was evicted, on DynamoDB's clock; zero if unknown.
	At time.Time
	// Previous says that it was the turn before the lock's own. Where holders
	// share, or have a permit each, it says that no holder of a higher ticket had
	// released before.
	Previous bool
}

// Unsettled reports whether a fenced transaction of an earlier turn may become
// visible while this lock is held: the turn before ended by an eviction, or less
// than a minute ago one was evicted, or released after an UnknownOutcomeError.
// Read by Get then. It makes no request.
func (l *Lock) Unsettled() bool { return l.session.Unsettled() }

// LastEviction returns the last eviction in the queue before the lock was
// granted; false if the record knows of none. It makes no request.
func (l *Lock) LastEviction() (Eviction, bool) {
	mark, ok, previous := l.session.LastEviction()
	if !ok {
		return Eviction{}, false
	}
	return Eviction{Ticket: mark.Ticket, At: mark.At, Previous: previous}, true
}
