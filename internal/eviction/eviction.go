// Package eviction evicts a fail-closed holder when an operator asks. Package sweep
// evicts expired ones.
//
// It never evicts a holder that has a lease, which ends by itself. The write asks for
// the holder as it was read, so a repetition never evicts another one.
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
	// ErrNotServed reports that no holder has the ticket.
	ErrNotServed = errors.New("no holder has the ticket")
	// ErrLeased reports that the holder has a lease.
	ErrLeased = errors.New("the holder has a lease")
)

// Evict ends the turn of the holder with that ticket, and returns it and the record
// as it was seen last. Failures are retried until timeout. A nil error says that the
// holder is gone, by this call or by its own release.
func Evict(ctx context.Context, q table.Queue, t ticket.Number, timeout time.Duration) (holder serving.Holder, rec serving.Record, err error) {
	requests := retry.Policy{Retryable: table.Transient, Timeout: timeout}
	err = requests.Do(ctx, func(ctx context.Context) (err error) {
		rec, err = serving.Get(ctx, q)
		return err
	})
	if err != nil {
		return holder, rec, err
	}
	for {
		if holder, err = find(rec, t); err != nil {
			return holder, rec, err
		}
		err = requests.Do(ctx, func(ctx context.Context) (err error) {
			rec, err = serving.EvictFailClosed(ctx, q, holder)
			return err
		})
		if err != nil && !errors.Is(err, serving.ErrRefused) {
			return holder, rec, fmt.Errorf("it may be gone: %w", err)
		}
		// A refusal says that the holder is gone, as ids do not come back, or that it
		// has made a fenced transaction since it was read.
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
