package queuelock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
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
	if err := l.Err(); err != nil {
		return nil, err
	}
	held, cancel := l.within(ctx)
	defer cancel()
	for retries := retry.For(0); ; {
		read, err := l.queue.TransactGet(held, items)
		if err == nil {
			return read, l.Err()
		}
		if !table.Passing(table.Reasons(err)) && !table.Transient(err) || !retries.Pause(held) {
			return nil, fmt.Errorf("queuelock: %s: get: %w", l.key, errors.Join(err, ctx.Err(), l.Err()))
		}
	}
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
func (l *Lock) Unsettled() bool {
	eviction, evicted := l.LastEviction()
	return l.recent(l.marks.Released.Open) || evicted && (eviction.Previous || eviction.At.IsZero() || l.recent(eviction.At))
}

// recent reports whether that time, on DynamoDB's clock, is so short before the
// grant that a transaction of then may not be visible yet; zero is not.
func (l *Lock) recent(at time.Time) bool {
	return !at.IsZero() && l.tableTime(l.since).Sub(at) < unsettledFor
}

// unsettledFor is how long DynamoDB may take to finish a transaction whose
// sender is gone. It states no bound; a recovery takes seconds.
const unsettledFor = time.Minute

// LastEviction returns the last eviction in the queue before the lock was
// granted; false if the record knows of none. It makes no request.
func (l *Lock) LastEviction() (Eviction, bool) {
	evicted := l.marks.Evicted
	if evicted.Ticket.IsZero() {
		return Eviction{}, false
	}
	return Eviction{Ticket: evicted.Ticket, At: evicted.At, Previous: l.marks.Released.Ticket.Less(evicted.Ticket)}, true
}
