package waiter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/table"
)

// row sends the requests of one queue row, one after the other.
type row struct {
	queue    table.Queue
	log      *slog.Logger
	terms    lease.Terms
	timeout  time.Duration // of a series of failed attempts
	prefix   string        // of its ids
	value    rows.Row
	from     string   // prefix of the id of the row that is resumed; empty after that
	ids      []string // of all attempts; ENQUEUE of all but the last may arrive late
	renewals *lease.Renewals
}

// put sends ENQUEUE until it is answered, each time with a new id. It returns when the
// answered request was sent. fresh reports that it was the first, so that the row in the
// table is not an older one.
func (r *row) put(ctx context.Context) (sent time.Time, fresh bool, err error) {
	if ctx.Err() != nil {
		return sent, false, ctx.Err()
	}
	err = retry.Policy{
		Retryable: table.Transient, Timeout: r.timeout, Grace: answerGrace,
		OnRetry: func(err error) {
			r.log.Debug("queuelock: a row was not put", "queue", r.queue.String(), "ticket", r.value.Ticket, "error", err)
		},
	}.Do(ctx, func(ctx context.Context) (err error) {
		sent = time.Now()
		fresh, err = r.enqueue(ctx, sent)
		return err
	})
	if err != nil {
		return sent, false, err
	}
	r.from = ""
	r.renewals = lease.NewRenewals(r.terms, r.queue.Clock(), r.value.Lease)
	return sent, fresh, nil
}

// enqueue sends ENQUEUE once.
func (r *row) enqueue(ctx context.Context, sent time.Time) (fresh bool, err error) {
	r.value.ID = fmt.Sprintf("%s-r%d-%s", r.prefix, len(r.ids), r.value.Ticket)
	r.value.Lease, r.value.CreatedAt = r.terms.Begin(r.queue.Clock(), sent)
	if r.value.CreatedAt.IsZero() {
		r.value.CreatedAt = sent
	}
	earlier := r.ids
	r.ids = append(r.ids, r.value.ID)
	var id string
	if r.from != "" {
		id, err = rows.Resume(ctx, r.queue, r.value, r.from, earlier...)
	} else {
		id, err = rows.Enqueue(ctx, r.queue, r.value, earlier...)
	}
	if err != nil {
		return false, err
	}
	fresh = id == r.value.ID && len(earlier) == 0
	r.value.ID = id
	return fresh, nil
}

// heartbeat returns how the row's lease is renewed, after a put.
func (r *row) heartbeat(fresh bool) heartbeat.Config {
	c := heartbeat.Config{TTL: r.terms.TTL, Interval: r.terms.Interval, Margin: r.terms.Margin, Spread: lease.Spread}
	if fresh {
		c.First = c.Interval
	}
	return c
}

// renew sends a heartbeat of the row.
func (r *row) renew(ctx context.Context) error {
	err := rows.Heartbeat(ctx, r.queue, r.value, r.renewals.Next(time.Now()))
	if errors.Is(err, rows.ErrGone) {
		return fmt.Errorf("%w: %w", heartbeat.ErrEvicted, err)
	}
	return err
}

// delete deletes the row, with any of its ids, even if no ENQUEUE was answered.
func (r *row) delete(ctx context.Context) error {
	if len(r.ids) == 0 {
		return nil
	}
	err := detached(ctx, func(ctx context.Context) error { return rows.Leave(ctx, r.queue, r.value, r.ids...) })
	if err != nil {
		r.log.Warn("queuelock: a queue row could not be deleted; its lease will end it",
			"queue", r.queue.String(), "ticket", r.value.Ticket, "ttl", r.terms.TTL, "error", err)
	}
	return err
}
