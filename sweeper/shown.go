package sweeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// Shown ends the turn of a holder on behalf of an operator, as the operator was shown it: by its id and ticket, and by
// its beat if it has a lease. A repetition never evicts another holder. A live owner is refused by its next heartbeat,
// and its fence from now on. Failures of each request are retried until timeout. A nil error says that the holder is gone, by this
// call or by its own release meanwhile, and serving.ErrRefused that it was not as it was shown.
func Shown(ctx context.Context, q table.Queue, shown queue.Holder, timeout time.Duration) (rec queue.Record, err error) {
	do := func(send func(context.Context) (queue.Record, error)) error {
		return retry.Policy{Retryable: table.Transient, Timeout: timeout}.Do(ctx, func(ctx context.Context) (err error) {
			rec, err = send(ctx)
			return err
		})
	}
	if err := do(func(ctx context.Context) (queue.Record, error) { return serving.Get(ctx, q) }); err != nil {
		return rec, err
	}
	for {
		h, present := rec.Mine(shown.ID)
		switch {
		case !present || h.Ticket != shown.Ticket:
			return rec, serving.ErrRefused
		case h.Unreadable():
			return rec, h.Problem
		case shown.Endless() && !h.Lease.Endless() || !shown.Endless() && h.Lease.Beat != shown.Beat:
			return rec, serving.ErrRefused
		}
		err := do(func(ctx context.Context) (queue.Record, error) {
			if shown.Endless() {
				return serving.EvictFailClosed(ctx, q, h)
			}
			return serving.Evict(ctx, q, h)
		})
		if err != nil && !errors.Is(err, serving.ErrRefused) {
			return rec, fmt.Errorf("it may be gone: %w", err)
		}
		// A refusal says that the holder is gone, as ids do not come back, or that it has made a fenced
		// transaction or renewed its lease since it was read.
		if _, present := rec.Mine(h.ID); err == nil || !present {
			return rec, nil
		}
	}
}
