// Package eviction evicts a holder when an operator asks. Package sweep evicts expired
// ones.
//
// A holder without a lease is named by its ticket. A holder that renews its lease is
// evicted only as it was shown, by its id, ticket and beat. The write asks for the holder
// as it was read, so a repetition never evicts another one. It is the write that evicts an
// expired holder: a live owner is refused by its next heartbeat, and its fence from now on.
package eviction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

var (
	// ErrNotServed reports that no holder has the ticket, or the id.
	ErrNotServed = errors.New("no holder has the ticket")
	// ErrLeased reports that the holder has a lease.
	ErrLeased = errors.New("the holder has a lease")
	// ErrRenewed reports that the holder's beat is not the one that was shown.
	ErrRenewed = errors.New("the holder has renewed its lease")
)

// FailClosed ends the turn of the holder without a lease that has that ticket, and returns
// it and the record as it was seen last. Failures are retried until timeout. A nil error
// says that the holder is gone, by this call or by its own release.
func FailClosed(ctx context.Context, q table.Queue, t ticket.Number, timeout time.Duration) (serving.Holder, serving.Record, error) {
	return end(ctx, q, timeout, serving.EvictFailClosed, func(rec serving.Record) (serving.Holder, error) { return find(rec, t) })
}

// Shown ends the turn of the holder with that id and ticket if it still has that beat. It
// is FailClosed otherwise.
func Shown(ctx context.Context, q table.Queue, id string, t ticket.Number, beat int64, timeout time.Duration) (serving.Holder, serving.Record, error) {
	evict := func(ctx context.Context, q table.Queue, h serving.Holder) (serving.Record, error) {
		return serving.Evict(ctx, q, h)
	}
	return end(ctx, q, timeout, evict, func(rec serving.Record) (serving.Holder, error) {
		h, present := rec.Mine(id)
		switch {
		case !present || h.Ticket != t:
			return h, ErrNotServed
		case h.Unreadable():
			return h, h.Problem
		case h.Lease.Beat != beat:
			return h, ErrRenewed
		}
		return h, nil
	})
}

// end evicts the holder that find returns.
func end(ctx context.Context, q table.Queue, timeout time.Duration,
	evict func(context.Context, table.Queue, serving.Holder) (serving.Record, error),
	find func(serving.Record) (serving.Holder, error)) (holder serving.Holder, rec serving.Record, err error) {
	requests := table.Retryable.Within(timeout)
	rec, err = retry.Answer(ctx, requests, func(ctx context.Context) (serving.Record, error) { return serving.Get(ctx, q) })
	if err != nil {
		return holder, rec, err
	}
	for {
		if holder, err = find(rec); err != nil {
			return holder, rec, err
		}
		rec, err = retry.Answer(ctx, requests, func(ctx context.Context) (serving.Record, error) { return evict(ctx, q, holder) })
		if err != nil && !errors.Is(err, serving.ErrRefused) {
			return holder, rec, fmt.Errorf("it may be gone: %w", err)
		}
		// A refusal says that the holder is gone, as ids do not come back, or that it
		// has made a fenced transaction or renewed its lease since it was read.
		if _, present := rec.Mine(holder.ID); err == nil || !present {
			return holder, rec, nil
		}
	}
}

// find returns the holder with that ticket, if it has no lease.
func find(rec serving.Record, t ticket.Number) (serving.Holder, error) {
	err := ErrNotServed
	for _, h := range rec.Holders {
		switch {
		case h.Ticket != t:
		case h.Lease.Endless():
			return h, nil
		case h.Unreadable():
			return h, h.Problem
		default:
			err = ErrLeased
		}
	}
	return serving.Holder{}, err
}
