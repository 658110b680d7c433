package waiter

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/ticket"
)

// clock answers what the machine asks about leases.
type clock struct{ *Waiter }

func (c clock) Now() time.Time { return time.Now() }

func (c clock) Begin() (queue.Lease, time.Time) {
	return c.cfg.Entry.Terms.Begin(c.cfg.Queue.Clock(), time.Now())
}

func (c clock) Usable(lease queue.Lease, sent time.Time, named bool) bool {
	terms, now := c.cfg.Entry.Terms, time.Now()
	if named {
		terms = c.cfg.Row
	}
	return now.Before(terms.Deadline(sent)) && terms.OwnerEndsFirst(c.cfg.Queue.Clock(), lease.Until, sent, now)
}

func (c clock) RowSent(until time.Time) (time.Time, bool) {
	if c.turn.place == nil {
		return time.Time{}, false
	}
	return c.turn.place.sent(until)
}

func (c clock) Leases(s queue.Snapshot) queue.Leases {
	return c.cfg.Observer.Leases(c.cfg.Queue.Items, s)
}

func (c clock) Earliest() (time.Time, bool) {
	earliest, _, known := c.cfg.Queue.Clock().At(time.Now())
	return earliest, known
}

// step steps the machine.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) step(e queue.Event) *queue.Do {
	before := w.wait.State
	do := w.wait.Step(clock{w}, e)
	w.note(before, e, &do)
	return &do
}

// play plays the machine until it has joined the queue, or the wait is over. If ctx ends, what is under way is answered first,
// and a lock that was granted meanwhile is returned.
func (w *Waiter) play(ctx context.Context, do *queue.Do) (*queue.Do, error) {
	for {
		switch do.State {
		case queue.Joining, queue.Granted, queue.Ended, queue.Left:
			return do, nil
		case queue.Keeping, queue.Removing, queue.Resetting:
		default:
			failed := do.State == queue.Pausing && !table.Unanswered(w.err) // says more than the end of ctx
			if ctx.Err() != nil && !failed {
				return do, ctx.Err()
			}
		}
		e, err := w.do(ctx, do)
		if err != nil && !taken(e) {
			return do, err
		}
		do = w.step(e) // a release that has taken the offer may have granted the lock
	}
}

// taken reports whether the event is that a release has taken the offer.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func taken(e queue.Event) bool {
	rested, ok := e.(queue.Rested)
	return ok && rested.Taken
}

// answerGrace is how long the answer to a request is awaited after the caller's context has ended.
const answerGrace = time.Second

// do does what the machine says, and returns what has happened.
func (w *Waiter) do(ctx context.Context, do *queue.Do) (queue.Event, error) {
	w.touch()
	switch do.State {
	case queue.Resting:
		return w.rest(ctx)
	case queue.Pausing:
		return queue.Again{}, w.pause(ctx)
	case queue.Putting:
		return queue.Put{}, w.awaitRow(ctx)
	case queue.Keeping:
		w.turn.kept = w.turn.place != nil && !w.turn.left && w.turn.place.hold()
		return queue.Kept{OK: w.turn.kept}, nil
	case queue.Looking:
		return w.look(ctx, do.Floor)
	case queue.Checking:
		return w.read(ctx, answerGrace, func(ctx context.Context) (queue.Snapshot, error) {
			return rows.Look(ctx, w.cfg.Queue, do.Floor, ticket.Number{})
		})
	case queue.Removing, queue.Resetting:
		return w.cleanUp(ctx, do), nil
	}
	return w.request(ctx, do), nil
}

// request sends a write, whose answer is awaited for answerGrace after the end of ctx.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) request(ctx context.Context, do *queue.Do) queue.Event {
	extended, cancel := retry.Outlive(ctx, answerGrace)
	defer cancel()
	w.sent = true
	sent := time.Now()
	rec, err := w.write(extended, do)
	w.progress.pace.Timed(sent, time.Now())
	return w.replied(ctx, do, rec, err)
}

// write sends the write that the machine asks for.
func (w *Waiter) write(ctx context.Context, do *queue.Do) (rec queue.Record, err error) {
	q := w.cfg.Queue
	switch do.State {
	case queue.Taking:
		return serving.Take(ctx, q, do.Entry, w.cfg.NoWait)
	case queue.Entering:
		return serving.Enter(ctx, q, do.Entry, w.wait.Ticket, w.cfg.Counter.Scope, w.cfg.NoWait)
	case queue.TakingOver:
		return serving.Resume(ctx, q, do.Holders[0], do.Entry)
	case queue.Confirming:
		return serving.Confirm(ctx, q, do.Attempt.ID, do.Holder.Ticket, q.Clock().Middle(do.Attempt.Sent))
	case queue.Evicting:
		rec, evicted, err := sweeper.Holders(ctx, q, do.Holders)
		if evicted > 0 {
			notify.Send(w.cfg.Log, event.Evicted{
				Origin: w.cfg.Log.Origin(w.wait.Ticket), Count: evicted, Holder: do.Holders[0].Ticket, Owner: do.Holders[0].Owner,
			})
		}
		return rec, err
	case queue.Sweeping:
		removed, err := sweeper.Rows(ctx, q, do.Rows)
		notify.Send(w.cfg.Log, event.Swept{Origin: w.cfg.Log.Origin(w.wait.Ticket), Expired: len(do.Rows), Removed: removed})
		if err == nil && removed < len(do.Rows) {
			err = serving.ErrRefused
		}
		return w.wait.Snapshot.Record, err
	}
	return serving.Claim(ctx, q, do.Entry, w.wait.Ticket)
}

// replied returns the reply to a request that has returned the record, or has failed with err.
func (w *Waiter) replied(ctx context.Context, do *queue.Do, rec queue.Record, err error) queue.Replied {
	r := queue.Replied{Reply: reply(err), Record: rec}
	if r.Reply < queue.ReplyFailed {
		w.failure = nil
		return r
	}
	if do.State == queue.Taking && !counter.MayHaveTaken(err) {
		r.Reply = queue.ReplyFailed
	}
	w.err, w.what = err, do.State
	if ctx.Err() != nil && w.turn.place == nil {
		w.unanswered(err) // no answer came in all that time. Else the delete of the row shows whether the table answers
	}
	return r
}

// reply returns what an error of a request says about it.
func reply(err error) queue.Reply {
	switch {
	case err == nil:
		return queue.ReplyApplied
	case errors.Is(err, serving.ErrMade):
		return queue.ReplyMade
	case errors.Is(err, serving.ErrLost):
		return queue.ReplyLost
	case errors.Is(err, serving.ErrRefused):
		return queue.ReplyRefused
	case table.Applied(err):
		return queue.ReplyUnknown
	}
	return queue.ReplyFailed
}

// look reads the queue. All but the first waiter of the client sleep first, as they cannot be next, unless they have an
// entry to remove. It reads nothing if the lock is passed to the waiter, or if the line has just seen the turn before its
// own begin.
func (w *Waiter) look(ctx context.Context, floor ticket.Number) (queue.Event, error) {
	for w.turn.local != nil && !w.turn.local.First() && !w.wait.MustRemove() {
		w.progress.pace.Behind(w.turn.local.Ahead())
		w.report()
		_, err := w.sleep(ctx, w.cfg.Schedule.Slowest, nil)
		if passed := w.passed(ctx); passed != nil || err != nil {
			return passed, err
		}
	}
	return w.lookNow(ctx, floor)
}

// passed ends the offer, and returns the event if a release has taken it; nil if none has.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) passed(ctx context.Context) queue.Event {
	if rested := w.withdraw(ctx); rested.Taken {
		return rested
	}
	return nil
}

// lookNow is look of the first waiter.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) lookNow(ctx context.Context, floor ticket.Number) (queue.Event, error) {
	if shown, ok := w.shown(); ok {
		return queue.Seen{Snapshot: shown}, nil
	}
	grace, named := answerGrace, w.turn.place != nil && w.turn.place.row.EntryID != ""
	if w.turn.place != nil {
		grace = 0 // the delete of its row shows whether the table answers
	}
	return w.read(ctx, grace, func(ctx context.Context) (s queue.Snapshot, err error) {
		switch {
		case named:
			s, err = rows.LookNext(ctx, w.cfg.Queue, w.wait.Ticket)
		default:
			s, err = rows.Look(ctx, w.cfg.Queue, w.wait.Ticket, floor)
		}
		if err == nil {
			w.turn.next, w.turn.nextAt = s.Next, s.ReadAt
			w.turn.foreseen = w.turn.foreseen || s.Own && s.Record.Floor().Less(w.wait.Ticket.Previous())
		}
		return s, err
	})
}

// read sends a look. grace is how long the answer is awaited after the end of ctx, to learn whether the table answers: zero
// if another request will show that.
func (w *Waiter) read(ctx context.Context, grace time.Duration, look func(context.Context) (queue.Snapshot, error)) (queue.Event, error) {
	answered := ctx
	if grace > 0 {
		extended, cancel := retry.Outlive(ctx, grace)
		defer cancel()
		answered = extended
	}
	sent := time.Now()
	s, err := look(answered)
	w.progress.pace.Timed(sent, time.Now())
	if err != nil {
		return w.replied(ctx, &queue.Do{State: queue.Looking}, queue.Record{}, err), nil
	}
	w.failure = nil
	return queue.Seen{Snapshot: s}, nil
}

// shown returns the latest record that the line has seen, if it is new and no waiter can be ahead.
func (w *Waiter) shown() (s queue.Snapshot, ok bool) {
	if w.turn.local == nil {
		return s, false
	}
	rec, at := w.turn.local.LastSeen()
	recent := w.wait.Snapshot.ReadAt.Before(at) && time.Since(at) <= w.cfg.Schedule.Fastest
	ok = recent && rec.Floor() == w.wait.Ticket.Previous() && rec.Follows(w.wait.Snapshot.Record)
	return queue.Snapshot{Record: rec, ReadAt: at}, ok
}

// awaitRow waits until the waiter's row is in the table.
func (w *Waiter) awaitRow(ctx context.Context) error {
	t := &w.turn
	if t.place == nil {
		return nil
	}
	select {
	case <-t.place.inserted:
		if w.cfg.Placed != nil && w.cfg.Resume != nil && !t.announced {
			t.announced = true // until here the old handle is valid
			w.cfg.Placed(w.handle())
		}
		return nil
	case <-t.place.failed:
		return t.place.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause waits before the attempt that follows a failed request. Any error that it returns ends the series.
func (w *Waiter) pause(ctx context.Context) error {
	err := w.err
	if w.turn.place != nil {
		select {
		case <-w.turn.place.failed: // another attempt does not help
			return w.turn.place.err
		default:
		}
	}
	if !table.Unanswered(err) { // the end of a context is not that of ctx
		return err
	}
	w.repeated(w.what.String(), err)
	if w.series.Pause(ctx) {
		return nil
	}
	return cmp.Or(ctx.Err(), err)
}

// unanswered records a failure which shows that the table does not answer, unless an earlier one has.
func (w *Waiter) unanswered(err error) {
	if w.failure == nil && table.Unanswered(err) {
		w.failure = err
	}
}

// note keeps what a step has shown: for reports, for the pace, and for the other waiters of the client.
func (w *Waiter) note(before queue.Doing, e queue.Event, do *queue.Do) {
	w.numbered(before, e, do)
	if d := do.Decision; d != nil {
		w.decided(d)
	}
	q, t := w.cfg.Queue.String(), w.wait.Ticket
	replied, _ := e.(queue.Replied)
	switch {
	case do.Late != nil:
		w.cfg.Log.Warn("queuelock: a grant came too late to be used, or is malformed",
			"queue", q, "ticket", t, "problem", do.Late.Problem)
	case before == queue.Confirming && replied.Reply == queue.ReplyLost:
		w.cfg.Log.Warn("queuelock: a fail-closed grant was not confirmed in time", "queue", q, "ticket", t)
	case do.State == queue.Ended && do.Why == queue.WhyOvertaken && before != queue.Removing && before != queue.Resetting:
		w.cfg.Log.Warn("queuelock: a waiter stalled, was overtaken and takes a new ticket", "queue", q, "ticket", t)
	}
	switch do.State {
	case queue.Confirming, queue.Granted:
		if w.turn.local != nil && !w.turn.arrived {
			w.arrive(do)
		}
		if do.State == queue.Confirming && before != queue.Pausing {
			w.series.Reset()
		}
	}
}

// numbered notes the ticket with which the waiter enters the queue, and the record that a request to enter has shown.
func (w *Waiter) numbered(before queue.Doing, e queue.Event, do *queue.Do) {
	r, ok := e.(queue.Replied)
	if !ok || before != queue.Taking && before != queue.Entering || r.Reply >= queue.ReplyFailed {
		return
	}
	if before == queue.Entering {
		w.raise(Highest{r.Record.TicketNumber, w.cfg.Queue})
		w.progress.record(w.wait.Ticket, w.wait.Snapshot, 0)
	}
	if r.Reply == queue.ReplyRefused || do.State == queue.Ended {
		return
	}
	if before == queue.Taking {
		w.progress.record(w.wait.Ticket, w.wait.Snapshot, ticketsAhead(w.wait.Ticket, r.Record))
	}
	w.cfg.Log.Ticket(w.wait.Ticket)
}

// decided notes a decision of the machine.
func (w *Waiter) decided(d *queue.Decision) {
	s, before := w.wait.Snapshot, w.progress.status.Serving
	w.progress.record(w.wait.Ticket, s, d.Ahead)
	if !w.turn.waits {
		return // not in the queue yet
	}
	w.judge(before, s.Record.Holders)
	w.progress.status.Blocked = d.Blocked
	w.progress.pace.Decided(*d)
	if w.turn.place != nil {
		w.turn.local.Record(s, d.Ahead)
		w.turn.place.below(w.wait.Ticket.Compare(s.Record.Floor()) <= 0)
	}
}
