package queuelock

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/ticket"
)

// maxReadItems is the limit of a TransactGetItems.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
const maxReadItems = 100

// Get reads up to 100 items that the lock protects, by one TransactGetItems, and
// returns them in order. A missing item is nil. No fenced write of an
// earlier holder can become visible after Get returns. If Unsettled is false, a
// consistent GetItem is enough. Returns an error that matches ErrLost or ErrReleased if the
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
	// Previous reports that no holder of a higher ticket had released since. For an
	// exclusive lock, the evicted turn was the one right before this.
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
