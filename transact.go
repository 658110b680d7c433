package queuelock

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/ticket"
)

// The limits of DynamoDB, of a write less the check on the lock.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
const (
	maxTransactItems = 99
	maxReadItems     = 100
)

func validItems(what string, n, most int) error {
	if n == 0 || n > most {
		return fmt.Errorf("queuelock: %s: %d items: between 1 and %d are possible", what, n, most)
	}
	return nil
}

// Transact makes the writes, all or none, only if the lock is still held when they are made. It
// takes up to 99 items of any tables of the region, without the lock's own record. They are made
// once, however often and however late the request arrives. Transactions of one lock are made one
// after another. Returns
//
//   - an error that matches ErrLost or ErrReleased if the lock had ended.
//   - an error that matches *types.TransactionCanceledException, with reasons in the order of the
//     items, if an item refused it. Nothing was written.
//   - *UnknownOutcomeError if the writes may have been made, or may yet be while the lock is held.
//     It never matches ErrLost.
//   - any other error if the table failed or ctx had ended. Nothing was written.
func (l *Lock) Transact(ctx context.Context, items ...types.TransactWriteItem) error {
	if err := validItems("Transact", len(items), maxTransactItems); err != nil {
		return err
	}
	return l.session.Transact(ctx, items...)
}

// Condition returns a check on the lock's serving record, for a TransactWriteItems of the caller's
// own: the transaction commits only while the lock is held, and is otherwise cancelled with
// ConditionalCheckFailed. It makes no request. It conflicts with heartbeats; retry a
// TransactionConflict. The check of an exclusive lock fails after Downgrade once another holder
// has joined. Prefer Transact.
func (l *Lock) Condition() types.ConditionCheck { return l.session.Condition() }

// Get reads up to 100 items that the lock protects, by one TransactGetItems, and returns them in
// order. A missing item is nil. No fenced write of an earlier holder can become visible after Get
// returns. If Unsettled is false, a consistent GetItem is enough. Returns an error that matches
// ErrLost or ErrReleased if the lock has ended.
func (l *Lock) Get(ctx context.Context, items ...types.TransactGetItem) ([]map[string]types.AttributeValue, error) {
	if err := validItems("Get", len(items), maxReadItems); err != nil {
		return nil, err
	}
	return l.session.Get(ctx, items)
}

// Unsettled reports whether a transaction of an earlier holder may become visible while this lock
// is held, because its turn ended by an eviction or with an unknown outcome. Read by Get then. It
// makes no request.
func (l *Lock) Unsettled() bool { return l.session.Unsettled() }

// Eviction is a turn that did not end by a release: its holder was evicted, or another process
// resumed its lock.
type Eviction struct {
	Ticket ticket.Number
	// At is the time of the eviction on DynamoDB's clock; zero if unknown.
	At time.Time
	// Previous reports that no holder of a higher ticket had released since. For an exclusive
	// lock, the evicted turn was the one right before this.
	Previous bool
}

// LastEviction returns the last eviction in the queue before the lock was granted, or false if the
// record shows none. It makes no request.
func (l *Lock) LastEviction() (Eviction, bool) {
	mark, ok, previous := l.session.LastEviction()
	if !ok {
		return Eviction{}, false
	}
	return Eviction{Ticket: mark.Ticket, At: mark.At, Previous: previous}, true
}
