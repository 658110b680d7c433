package sweeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/quote"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// EvictError says that an eviction, or a request to give way, did nothing: the holder is gone or has renewed its lease.
type EvictError struct {
	Holder  queue.Holder   // as it was shown
	Serving []queue.Holder // the present holders, in the order of tickets
}

// Renewed returns the holder as it is now if it still is one: it has renewed its lease since it was shown. If ok is
// false it is gone, by its release, an eviction or queuelock.Client.Resume.
func (e *EvictError) Renewed() (now queue.Holder, ok bool) {
	i := slices.IndexFunc(e.Serving, func(h queue.Holder) bool { return h.ID == e.Holder.ID && h.Ticket == e.Holder.Ticket })
	if i < 0 {
		return now, false
	}
	return e.Serving[i], true
}

func (e *EvictError) Error() string {
	if now, ok := e.Renewed(); ok {
		return fmt.Sprintf("this holder has renewed its lease since it was read: %s, beat %d, which ends in %v unless it is renewed",
			quote.Text(now.Owner), now.Beat, max(0, now.Remaining).Round(time.Millisecond))
	}
	if len(e.Serving) == 0 {
		return "this holder is gone: the lock has no holder"
	}
	var others []string
	for _, h := range e.Serving {
		if h.Closed {
			others = append(others, fmt.Sprintf("none, closed%s by ticket %s", quote.Until(h.NotBefore), h.Ticket))
			continue
		}
		others = append(others, fmt.Sprintf("%s (ticket %s)", quote.Text(h.Owner), h.Ticket))
	}
	return "this holder is gone; holders: " + strings.Join(others, ", ")
}

// Shown ends the turn of a holder on behalf of an operator, as the operator was shown it: by its id and ticket, and by
// its beat if it has a lease. A repetition never evicts another holder. A live owner is refused by its next heartbeat,
// and its fence from now on. Failures of each request are retried until timeout. A nil error says that the holder is gone,
// by this call or by its own release meanwhile, and an [*EvictError] that it was not as it was shown.
func Shown(ctx context.Context, q table.Queue, shown queue.Holder, observer *heartbeat.Observer,
	timeout time.Duration) (rec queue.Record, err error) {
	policy := retry.Policy{Retryable: table.Unanswered}
	rec, err = retry.Answer(ctx, policy.Within(timeout), func(ctx context.Context) (queue.Record, error) { return serving.Get(ctx, q) })
	if err != nil {
		return rec, err
	}
	refused := func() error {
		now := time.Now()
		return &EvictError{Holder: shown, Serving: observer.Holders(q.Items, rec, now, q.Clock().Middle(now))}
	}
	for {
		h, present := rec.Mine(shown.ID)
		switch {
		case !present || h.Ticket != shown.Ticket:
			return rec, refused()
		case h.Unreadable():
			return rec, h.Problem
		case shown.Endless() && !h.Lease.Endless() || !shown.Endless() && h.Lease.Beat != shown.Beat:
			return rec, refused()
		}
		rec, err = retry.Answer(ctx, policy.Within(timeout), func(ctx context.Context) (queue.Record, error) {
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
