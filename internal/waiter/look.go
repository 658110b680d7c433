package waiter

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/rows"
)

// look reads the queue. All but the first waiter of the client sleep first, as they cannot be next.
func (w *Waiter) look(ctx context.Context) error {
	w.touch()
	for w.turn.local != nil && !w.turn.local.First() {
		w.progress.pace.turns = w.turn.local.Ahead()
		w.report()
		if _, err := w.sleep(ctx, w.cfg.Schedule.Slowest, nil); err != nil {
			return err
		}
	}
	if err := w.awaitRow(ctx); err != nil {
		return err
	}
	period := time.Duration(0)
	if w.turn.place == nil {
		period = answerGrace // with a row, its delete shows whether the table answers
	}
	floor := w.snapshot.Record.Floor()
	return w.read(ctx, period, func(ctx context.Context) (rows.Snapshot, error) {
		return rows.Look(ctx, w.cfg.Queue, w.ticket, floor)
	})
}

// AwaitRow waits, after Enter, until the waiter's row is in the table. Without it the first look is made beside
// the ENQUEUE.
func (w *Waiter) AwaitRow(ctx context.Context) error {
	w.turn.asked = true
	return w.awaitRow(ctx)
}

// awaitRow lets the first LOOK or CLAIM run beside the ENQUEUE, and any other wait for its answer.
func (w *Waiter) awaitRow(ctx context.Context) error {
	t := &w.turn
	if !t.asked || t.place == nil {
		t.asked = true
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

// rest waits until it is time to act again. seen reports that it has changed the snapshot so that no look is
// needed.
func (w *Waiter) rest(ctx context.Context, after step) (seen bool, err error) {
	if after == lookAgain {
		if w.failure != nil {
			return false, nil // nothing has moved, and the retry timeout bounds failures
		}
		if w.turn.rounds++; w.cfg.NoWait && w.turn.rounds > quickTries {
			return false, ErrBusy
		}
		return false, nil
	}
	if w.cfg.NoWait {
		return false, ErrBusy
	}
	d, slots := w.delay(ctx)
	woken, err := w.sleep(ctx, d, slots)
	if err != nil || !woken || !w.next() {
		return false, err
	}
	// A turn ended in this process, and no waiter can be ahead. Try without a look: CLAIM decides whether the
	// guess is right.
	rec := w.snapshot.Record
	rec.Holders = nil
	w.snapshot = rows.SnapshotOf(rec)
	return true, nil
}

// delay returns how long to sleep before the next look. With slots, a slot ends the sleep.
func (w *Waiter) delay(ctx context.Context) (d time.Duration, slots chan<- struct{}) {
	p, schedule := &w.progress.pace, w.cfg.Schedule
	if p.joined() {
		d = min(time.Duration(w.progress.status.Ahead+1)*schedule.Fastest, schedule.SlowestNext)
	} else {
		now := time.Now()
		earliest, _, _ := w.cfg.Queue.Clock().At(now)
		d = schedule.Delay(p.observation(w.snapshot.Record, w.Mode().Permits, earliest, now), random.Float64(ctx))
	}
	if w.turn.slot || w.cfg.Slots == nil {
		return d, nil
	}
	return max(d, random.Around(ctx, p.slowest(schedule.Slowest)*2/3)), w.cfg.Slots // not all at once
}

// sleep waits for d, or until it gets one of the slots. woken reports that a turn ended in this process, or that
// the waiter has become the first of its client.
func (w *Waiter) sleep(ctx context.Context, d time.Duration, slots chan<- struct{}) (woken bool, err error) {
	w.touch()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.turn.local.Woken():
		woken = true
	case slots <- struct{}{}:
		w.turn.slot = true
	case <-w.turn.place.failed:
		return false, w.turn.place.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
	w.touch()
	w.series.Reset() // the retry timeout is for failures, not for waiting
	return woken, nil
}

// report reports the progress of a waiter that continues to wait.
func (w *Waiter) report() {
	p, rec := w.progress, w.snapshot.Record
	if p.report == nil || w.turn.place == nil {
		return
	}
	p.update(w.turn.local)
	now := time.Now()
	earliest, _, _ := w.cfg.Queue.Clock().At(now)
	p.send(w.ticket, rec, p.pace.estimate(rec, w.Mode().Permits, earliest, now))
}
