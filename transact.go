package queuelock

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/ticket"
)

// Condition returns a check on the lock's serving record, for a TransactWriteItems of
// the caller's own: the transaction commits only while the lock is held, and is
// otherwise cancelled with ConditionalCheckFailed. It makes no request. It conflicts
// with heartbeats; retry a TransactionConflict. The check of an exclusive lock fails
// after Downgrade once another holder has joined. Prefer Transact.
func (l *Lock) Condition() types.ConditionCheck { return l.session.Condition() }

// maxTransactItems is the limit of a transaction less the check on the lock.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const maxTransactItems = 99

// Transact makes the writes, all or none, only if the lock is still held when they are
// made. It takes up to 99 items of any tables of the region, without the lock's own
// record. They are made once, however often and however late the request arrives.
// Transactions of one lock are made one after another. Returns
//
//   - an error that matches ErrLost or ErrReleased if the lock had ended.
//   - an error that matches *types.TransactionCanceledException, with reasons in the
//     order of the items, if an item refused it. Nothing was written.
//   - *UnknownOutcomeError if the writes may have been made, or may yet be while the
//     lock is held. It never matches ErrLost.
//   - any other error if the table failed or ctx had ended. Nothing was written.
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

// maxReadItems is the limit of a TransactGetItems.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
const maxReadItems = 100

// Get reads up to 100 items that the lock protects, by one TransactGetItems, and
// returns them in order. A missing item is nil. It sees every fenced transaction of
// earlier holders that will ever be made; a consistent GetItem is enough unless
// Unsettled returns true. Returns an error that matches ErrLost or ErrReleased if the
// lock has ended.
func (l *Lock) Get(ctx context.Context, items ...types.TransactGetItem) ([]map[string]types.AttributeValue, error) {
	if len(items) == 0 || len(items) > maxReadItems {
		return nil, fmt.Errorf("queuelock: Get: %d items: between 1 and %d are possible", len(items), maxReadItems)
	}
	return l.session.Get(ctx, items)
}

// Eviction is a turn that did not end by a release: its holder was evicted, or another
// process resumed its lock.
type Eviction struct {
	Ticket ticket.Number
	// At is the time of the eviction on DynamoDB's clock; zero if unknown.
	At time.Time
	// Previous says that it was the turn before the lock's own. Among several holders
	// it says that no holder of a higher ticket had released before.
	Previous bool
}

// Unsettled reports whether a transaction of an earlier holder may become visible while
// this lock is held, because its turn ended by an eviction or with an unknown outcome.
// Read by Get then. It makes no request.
func (l *Lock) Unsettled() bool { return l.session.Unsettled() }

// LastEviction returns the last eviction in the queue before the lock was granted, or
// false if the record shows none. It makes no request.
func (l *Lock) LastEviction() (Eviction, bool) {
	mark, ok, previous := l.session.LastEviction()
	if !ok {
		return Eviction{}, false
	}
	return Eviction{Ticket: mark.Ticket, At: mark.At, Previous: previous}, true
}
