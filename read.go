package queuelock

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/ticket"
)

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
