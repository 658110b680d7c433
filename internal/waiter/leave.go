package waiter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// leaveLimit limits the requests of CLEAN UP, after the answers under way were awaited. A lease ends what they do
// not remove.
const leaveLimit = 3 * time.Second

// OrphanError reports a fail-closed grant whose CONFIRM had no answer. It may be in the record and has no owner.
type OrphanError struct {
	Ticket ticket.Number
	Err    error // why it could not be removed
}

func (e *OrphanError) Error() string {
	return fmt.Sprintf("ticket %s may be in the record without an owner: %v", e.Ticket, e.Err)
}

// Leave leaves the queue: CLEAN UP of the protocol. It must follow an error of Number, Enter or Await, and may
// replace Await. It waits until the row is deleted, and removes ids whose requests were not answered from the
// record. It returns when all requests were answered or given up. With NoWait at a table that does not answer the ids are removed in the background,
// which the client's Close waits for: the caller has not queued, and a lease ends them, unless a fail-closed grant is
// among them.
func (w *Waiter) Leave(ctx context.Context) {
	w.leave()
	w.bell.Stop()
	w.places.Wait()
	if w.turn.place != nil {
		w.unanswered(w.turn.place.undeleted)
	}
	do := w.step(queue.GiveUp{})
	if do.State == queue.Left {
		return
	}
	ids, endless := do.IDs, 0
	if orphans, _ := w.wait.Orphans(); len(orphans) > 0 {
		endless = len(orphans)
	}
	if w.cfg.NoWait && w.failure.get() != nil && endless == 0 {
		ctx, cleaned := random.Fork(ctx), make(chan struct{})
		w.cleaned = cleaned
		rest := &Waiter{player: player{sender: sender{cfg: w.cfg, wait: w.wait}}} // the caller reads the status of w meanwhile
		w.cfg.Background(func() {
			_, _ = rest.play(ctx, do)
			close(cleaned)
			if rest.err == nil { // the requests were given up early, and may still arrive
				retry.Sleep(context.WithoutCancel(ctx), leaveLimit)
				_, _ = rest.play(ctx, rest.step(queue.GiveUp{}))
			}
			rest.abandon(ids)
		})
		return
	}
	w.err = nil
	_, _ = w.play(ctx, do)
	w.unanswered(w.err)
	w.abandon(ids)
}

// abandon logs ids that could not be removed from the record. A lease ends them, except an orphan.
func (w *Waiter) abandon(ids []string) {
	if w.err == nil {
		return
	}
	orphans, t := w.wait.Orphans()
	for _, id := range orphans {
		ids = slices.DeleteFunc(slices.Clone(ids), func(other string) bool { return id == other })
		w.orphan = &OrphanError{Ticket: t, Err: w.err}
		w.cfg.Log.Error("queuelock: a fail-closed grant of unknown outcome could not be removed; "+
			"if it is in the record, an operator must evict it",
			"queue", w.cfg.Queue.String(), "ticket", t, "id", id, "error", w.err)
	}
	if len(ids) > 0 {
		w.cfg.Log.Warn("queuelock: holder ids of unknown outcome could not be removed; their lease will end them",
			"queue", w.cfg.Queue.String(), "ids", ids, "ttl", w.cfg.Entry.Terms.TTL, "error", w.err)
	}
}

// cleanUp removes own ids that may be in the record, or resets it, and wakes the other waiters of the client.
func (p *player) cleanUp(ctx context.Context, do *queue.Do) queue.Event {
	var rec queue.Record
	var reply queue.Reply
	if do.State == queue.Resetting {
		q := p.cfg.Queue
		q.Store = q.Until(time.Time{})
		rec, reply, _ = serving.Send(context.WithoutCancel(ctx), q, do.Write)
		return queue.Replied{Reply: reply, Record: rec}
	}
	err := detached(ctx, p.cfg.Queue, func(ctx context.Context, q table.Queue) (err error) {
		rec, reply, err = serving.Send(ctx, q, do.Write)
		return err
	})
	switch {
	case reply >= queue.ReplyFailed:
		p.err = err
	case reply == queue.ReplyApplied || len(rec.Holders) == 0: // refused: perhaps by a copy of itself
		p.cfg.Local.Wake(p.cfg.Queue)
	}
	return queue.Replied{Reply: reply, Record: rec}
}

// Remove removes a grant that its owner could not release. It is repeated until it is answered, for RetryTimeout
// at most, until end, when other clients may evict it, or until leaveLimit after the end of ctx.
func (w *Waiter) Remove(ctx context.Context, id string, end time.Time) error {
	ctx, cancel := retry.Outlive(ctx, leaveLimit)
	defer cancel()
	ctx, cancelEnd := context.WithDeadline(ctx, end)
	defer cancelEnd()
	err := table.Retryable.Within(w.cfg.RetryTimeout).Do(ctx, func(ctx context.Context) error {
		q := w.cfg.Queue
		q.Store = q.Until(time.Time{})
		_, err := serving.Remove(ctx, q, id)
		return err
	})
	switch {
	case err == nil:
		w.cfg.Local.Wake(w.cfg.Queue)
	case errors.Is(err, serving.ErrRefused), !time.Now().Before(end):
		return nil // it is gone, or ends without help
	}
	return err
}

// detached sends a request of CLEAN UP, which does not end with the caller's context. The first attempt is given up early
// enough to be repeated; the table may be slow, and the second has the rest of the time.
func detached(ctx context.Context, q table.Queue, request func(context.Context, table.Queue) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	whole := q.Until(time.Time{})
	q.Store = whole.AtMost(leaveLimit / 3)
	return table.Retryable.Within(leaveLimit).Do(ctx, func(ctx context.Context) error {
		defer func() { q.Store = whole }()
		return request(ctx, q)
	})
}
