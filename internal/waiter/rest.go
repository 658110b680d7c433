package waiter

import (
	"context"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

// rest waits until it is time to act again: to look, or to guess if no waiter can be ahead and the turn has ended, or
// should have.
func (w *Waiter) rest(ctx context.Context) (queue.Event, error) {
	w.report()
	d, slots := w.delay(ctx)
	why, err := w.sleep(ctx, d, slots)
	return w.rested(ctx, why, err)
}

// rested returns what a rest has come to.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) rested(ctx context.Context, why waking, err error) (queue.Event, error) {
	rested := w.withdraw(ctx)
	if err == nil {
		rested.Guess = w.wait.Next() && !w.expected() && (why == woken || w.mayHaveEnded())
	}
	return rested, err
}

// mayHaveEnded reports whether the turn in the way may have ended unseen, for all that is known of turns.
func (w *Waiter) mayHaveEnded() bool {
	return !w.heldByOwn() && w.progress.pace.MayHaveEnded(w.wait.Snapshot.Record, time.Now())
}

// delay returns how long to sleep before the next look. With slots, a slot ends the sleep.
func (w *Waiter) delay(ctx context.Context) (d time.Duration, slots chan<- struct{}) {
	p, schedule, draw := &w.progress.pace, w.cfg.Schedule, func() float64 { return random.Float64(ctx) }
	d = p.Delay(schedule, w.view(), draw)
	if w.turn.slot || w.cfg.Several.Slots == nil {
		return d, nil
	}
	return p.Lazily(schedule, d, draw), w.cfg.Several.Slots
}

// view returns what the waiter knows for its pace.
func (w *Waiter) view() waitpolicy.View {
	now, clock := time.Now(), w.cfg.Queue.Clock()
	earliest, _, _ := clock.At(now)
	v := waitpolicy.View{
		Record: w.wait.Snapshot.Record, Permits: w.Mode().Permits, Ahead: w.progress.status.Ahead, Own: w.heldByOwn(), Hints: w.hints(),
		Now: now, Earliest: earliest, Middle: clock.Middle(now),
	}
	if w.turn.place != nil && w.turn.place.row.EntryID != "" {
		v.Row = w.cfg.Row.TTL
	}
	return v
}

// heldByOwn reports whether this client holds the lock, and the waiter is next.
func (w *Waiter) heldByOwn() bool {
	holders := w.wait.Snapshot.Record.Holders
	return w.wait.Next() && len(holders) == 1 && w.turn.local.Own(holders[0].ID)
}

// expected reports whether the present holder has probably read the waiter's row, and will name it: the row was there
// before its turn. A CLAIM would be refused.
func (w *Waiter) expected() bool {
	if w.turn.local != nil && w.turn.local.Named() {
		return true
	}
	return w.turn.foreseen && w.wait.Next() && len(w.wait.Snapshot.Record.Holders) == 1 &&
		time.Since(w.progress.pace.Moved()) < waitpolicy.NamedWithin
}

// waking is why a sleep has ended.
type waking int

const (
	overslept waking = iota // its time is over, or it has got a slot
	woken                   // a turn has probably ended, or the waiter has become the first of its client
)

// sleep waits for d, or until it gets one of the slots. Meanwhile a release of this client may pass the lock.
func (w *Waiter) sleep(ctx context.Context, d time.Duration, slots chan<- struct{}) (why waking, err error) {
	t := &w.turn
	w.offer()
	for until, over := time.Now().Add(d), false; !over; {
		w.touch() // the schedule may exceed Slowest
		timer := time.NewTimer(min(time.Until(until), w.cfg.Schedule.Slowest))
		select {
		case <-timer.C:
		case <-t.local.Woken():
			t.woken, why, over = true, woken, true
		case <-t.local.Hinted():
			until = w.heed(ctx, until)
		case slots <- struct{}{}:
			t.slot, over = true, true
		case <-t.place.failed:
			err, over = t.place.err, true
		case <-ctx.Done():
			err, over = ctx.Err(), true
		}
		timer.Stop()
		over = over || !time.Now().Before(until)
	}
	if err != nil {
		return why, err
	}
	w.touch()
	w.series.Reset() // the retry timeout is for failures, not for waiting
	if t.hints > 0 && t.early == 0 && t.local.Trust() >= 0 {
		why = woken
	}
	return why, nil
}

// offer lets the release of an exclusive lock with the ticket before the waiter's own grant the lock to the waiter: no
// other waiter can be between the two. With a wider counter the tickets between are of other queues, and the lock of a
// user's item may be released with an update. The offer ends with the sleep.
func (w *Waiter) offer() {
	if w.cfg.Counter != nil || w.cfg.Queue.Home != nil || w.cfg.Resume != nil || w.Mode().Permits > 0 {
		return
	}
	w.wait.Offer()
	w.turn.local.Offer(func() queue.Entry { return w.wait.Passing(clock{w}) })
}

// withdraw ends the offer. If a release has taken it, its answer is awaited, and returned.
func (w *Waiter) withdraw(ctx context.Context) (r queue.Rested) {
	answer := w.turn.local.Withdraw()
	if answer == nil {
		return r
	}
	w.turn.woken = true
	ctx, cancel := retry.Outlive(ctx, answerGrace)
	defer cancel()
	select {
	case got := <-answer:
		return queue.Rested{Taken: true, Reply: reply(got.Err), Record: got.Record}
	case <-ctx.Done():
		return queue.Rested{Taken: true, Reply: queue.ReplyUnknown}
	}
}

// report reports the progress of a waiter that continues to wait.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (w *Waiter) report() {
	p, rec := w.progress, w.wait.Snapshot.Record
	if w.turn.place == nil {
		return
	}
	p.update(w.turn.local)
	w.noteOwn()
	if p.report != nil {
		p.send(w.wait.Ticket, rec, w.estimate())
	}
}

// ownLimit is how long a holder of the waiter's own client may be in the way before that is logged.
const ownLimit = 10 * time.Second

// ownHolder is a holder of the waiter's own client.
type ownHolder struct {
	id     string
	since  time.Time // when it was first seen
	logged bool      // one was, see noteOwn
}

// noteOwn logs once that the waiter's own client has the lock: the caller may be waiting for itself.
func (w *Waiter) noteOwn() {
	holders := w.progress.status.Serving
	i := slices.IndexFunc(holders, func(h queue.Holder) bool { return w.turn.local.Own(h.ID) })
	switch {
	case w.own.logged:
	case i < 0:
		w.own.id = ""
	case w.own.id != holders[i].ID:
		w.own.id, w.own.since = holders[i].ID, time.Now()
	case time.Since(w.own.since) >= ownLimit:
		w.own.logged = true
		w.cfg.Log.Info("queuelock: waits for a lock that this client itself holds: locks are not reentrant",
			"queue", w.cfg.Queue.String(), "ticket", w.wait.Ticket, "own", holders[i].Ticket)
	}
}

// estimate returns how long the turns before the waiter's own are likely to take, from what it has seen.
func (w *Waiter) estimate() waitpolicy.Estimate {
	if w.wait.Snapshot.ReadAt.IsZero() {
		return waitpolicy.Estimate{}
	}
	now := time.Now()
	earliest, _, _ := w.cfg.Queue.Clock().At(now)
	return w.progress.pace.Estimate(w.wait.Snapshot.Record, w.Mode().Permits, earliest, now)
}
