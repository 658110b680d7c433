// Package oncecall is how package once reaches what package queuelock does for it alone.
package oncecall

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/queue"
)

// Option returns the option of a call. Package queuelock sets it, because this package cannot import that one.
var Option func(*Call) any

// Call is one acquire of a caller that waits for a result. The acquire fills it in.
type Call struct {
	// Result was found before the acquire, in its wait, or in the record of the grant. Nil: the caller holds the lock, and
	// computes.
	Result *queue.Result
	// Publish releases the lock and leaves the result in the record, both or neither. Nil error: they were made.
	Publish func(ctx context.Context, value []byte, ttl time.Duration) error
	// Look reads the record once. It returns a result that answers the caller; nil: there is none.
	Look func(ctx context.Context) (*queue.Result, error)
}
