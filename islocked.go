package queuelock

import (
	"context"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/waitpolicy"
)

// IsLocked says whether somebody is being served whose lease has not ended, as
// one consistent read of the serving record shows it. It changes nothing, and
// takes no ticket.
//
// Leases are judged as they are by those who wait: by DynamoDB's clock, or by
// observation. So a holder that died is told from one that lives at the end of
// its lease, also before anybody evicts it; only one that died in the first
// second of its process, and left a lease without an end, counts as alive until
// this client has seen it unchanged for its whole length (Config.TTL of its
// owner). A lock delay (LockDelay) counts as part of the lease.
//
// It is a piece of news, already old, and no permission: somebody may be
// served before it is read. Nor does false say that an Acquire would be served
// at once: others may be waiting, see Inspect. To take an idle lock or go
// without, use Acquire with NoWait.
//
// One request: a read unit (two if the holder has more than some 3.5 KB of
// data). The error is the key's, with nothing sent; ErrClosed after Close; a
// malformed record's; or the table's. Then it is false, and nothing is known.
// Calling it again is safe.
func (c *Client) IsLocked(ctx context.Context, key Key) (bool, error) {
	_, q, err := c.prepare(key, waitpolicy.NoWait, nil)
	if err != nil {
		return false, err
	}
	ctx, end, err := c.begin(ctx, waitpolicy.Forever)
	if err != nil {
		return false, err
	}
	defer end()
	rec, err := serving.Get(ctx, q)
	readAt := time.Now()
	if err != nil {
		return false, fmt.Errorf("queuelock: is %s locked: %w", key.normal(), err)
	}
	locked := false
	for _, h := range rec.Holders {
		// Each is seen, so that each is watched from now on.
		locked = c.observer.See(h.LeaseID(q), h.Lease, readAt) > 0 || locked
	}
	return locked, nil
}
