package sweeper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/quote"
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
	same := func(h queue.Holder) bool { return h.ID == e.Holder.ID && h.Ticket == e.Holder.Ticket }
	i := slices.IndexFunc(e.Serving, same)
	if i < 0 {
		return now, false
	}
	return e.Serving[i], true
}

func (e *EvictError) Error() string {
	if now, ok := e.Renewed(); ok {
		return fmt.Sprintf("this holder has renewed its lease since it was read: %s, beat %d, "+
			"which ends in %v unless it is renewed",
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

// Evict ends the turn of a holder on behalf of an operator, as the operator was shown it: by its id and ticket, and by
// its beat if it has a lease. A repetition never evicts another holder. A live owner is refused by its next heartbeat,
// and its fence from now on. A nil error says that the holder is gone, by this call or by its own release meanwhile,
// and an [*EvictError] that it was not as it was shown. After any other error it may be gone.
func (s Sweeper) Evict(ctx context.Context, shown queue.Holder) (queue.Record, error) {
	rec, err := s.Table.Record(ctx)
	for err == nil {
		h, present := rec.Mine(shown.ID)
		switch {
		case !present || h.Ticket != shown.Ticket:
			return rec, s.gone(shown, rec)
		case h.Unreadable():
			return rec, h.Problem
		case shown.Endless() && !h.Lease.Endless() || !shown.Endless() && h.Lease.Beat != shown.Beat:
			return rec, s.gone(shown, rec)
		}
		w := s.evict(h)
		if shown.Endless() {
			w = queue.EvictFailClosed(s.mark(h), h)
		}
		var applied bool
		if rec, applied, err = s.Table.Write(ctx, w); err != nil {
			return rec, fmt.Errorf("it may be gone: %w", err)
		}
		// A refusal says that the holder is gone, as ids do not come back, or that it has made a fenced
		// transaction or renewed its lease since it was read.
		if _, present := rec.Mine(h.ID); applied || !present {
			return rec, nil
		}
	}
	return rec, err
}

// gone is the error for a holder that is not in the record as it was shown.
func (s Sweeper) gone(shown queue.Holder, rec queue.Record) error {
	now := time.Now()
	return &EvictError{Holder: shown, Serving: s.Observer.Holders(s.Items, rec, now, s.Clock.Middle(now))}
}
