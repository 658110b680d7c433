package sweeper

import (
	"context"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/queue"
)

// Request is what a holder is asked by Revoke.
type Request struct {
	By, Why  string
	Deadline time.Duration // from now; zero: none
}

// Revoke asks a holder to give way, by one request: that of the id and the ticket that were read, and no other. ring is
// called with its bell unless the holder is gone, so that it may look at once. Returns [*EvictError] if the holder is
// gone. After any other error it may have been asked.
func (s Sweeper) Revoke(ctx context.Context, h queue.Holder, r Request, ring func(bell string)) error {
	if h.Closed {
		return s.gone(h, queue.Record{})
	}
	rec, applied, err := s.Table.Write(ctx, queue.Revoke(h.ID, h.Ticket, s.revocation(r)))
	if err == nil && !applied {
		return s.gone(h, rec)
	}
	if ring(h.Bell); err != nil {
		return fmt.Errorf("it may have been asked: %w", err)
	}
	return nil
}

// revocation is what the entry says of the request.
func (s Sweeper) revocation(r Request) queue.Revocation {
	now := time.Now()
	mark := queue.Revocation{By: r.By, Why: r.Why, At: s.Clock.Middle(now)}
	if _, latest, known := s.Clock.At(now); known && r.Deadline > 0 {
		mark.Deadline = latest.Add(r.Deadline)
	}
	return mark
}
