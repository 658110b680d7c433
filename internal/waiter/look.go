package waiter

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
)

// look reads the queue. All but the first waiter of the client sleep first, as they
// cannot be next. last is the record that was seen last.
func (t *turn) look(ctx context.Context, last serving.Record) (rows.Snapshot, error) {
	t.touch()
	for t.local != nil && !t.local.First() {
		t.progress.pace.turns = t.local.Ahead()
		t.report(last)
		if _, err := t.sleep(ctx, t.cfg.Schedule.Slowest, nil); err != nil {
			return rows.Snapshot{}, err
		}
	}
	if err := t.awaitRow(ctx); err != nil {
		return rows.Snapshot{}, err
	}
	period := time.Duration(0)
	if t.place == nil {
		period = answerGrace // with a row, its delete shows whether the table answers
	}
	return t.requests.look(ctx, t.series, period, func(ctx context.Context) (rows.Snapshot, error) {
		t.touch()
		return rows.Look(ctx, t.cfg.Queue, t.ticket, last.Floor())
	})
}

// awaitRow lets the first LOOK or CLAIM run beside the ENQUEUE, and any other wait
// for its answer.
func (t *turn) awaitRow(ctx context.Context) error {
	if !t.asked || t.place == nil {
		t.asked = true
		return nil
	}
	select {
	case <-t.place.inserted:
		if t.cfg.Placed != nil && t.cfg.Resume != nil && !t.announced {
			t.announced = true // until here the old handle is valid
			t.cfg.Placed(t.handle)
		}
		return nil
	case <-t.place.failed:
		return t.place.problem()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rest waits until it is time to act again. seen reports that it has changed the snapshot
// so that no look is needed.
func (t *turn) rest(ctx context.Context, after step, snapshot *rows.Snapshot) (seen bool, err error) {
	if after == lookAgain {
		if t.requests.failure != nil {
			return false, nil // nothing has moved, and the retry timeout bounds failures
		}
		if t.rounds++; t.cfg.NoWait && t.rounds > quickTries {
			return false, ErrBusy
		}
		return false, nil
	}
	if t.cfg.NoWait {
		return false, ErrBusy
	}
	d, slots := t.delay(ctx, snapshot.Record)
	woken, err := t.sleep(ctx, d, slots)
	if err != nil || !woken || !t.next(snapshot.Record) {
		return false, err
	}
	// A turn ended in this process, and no waiter can be ahead. Try without a look:
	// CLAIM decides whether the guess is right.
	snapshot.Record.Holders = nil
	*snapshot = rows.SnapshotOf(snapshot.Record)
	return true, nil
}

// delay returns how long to sleep before the next look. With slots, a slot ends the
// sleep.
func (t *turn) delay(ctx context.Context, rec serving.Record) (d time.Duration, slots chan<- struct{}) {
	p, schedule := &t.progress.pace, t.cfg.Schedule
	if p.joined() {
		d = min(time.Duration(t.progress.status.Ahead+1)*schedule.Fastest, schedule.SlowestNext)
	} else {
		now := time.Now()
		d = schedule.Delay(p.observation(rec, t.mode().Permits, t.earliest(now), now), random.Float64(ctx))
	}
	if t.slot || t.cfg.Slots == nil {
		return d, nil
	}
	return max(d, random.Around(ctx, p.slowest(schedule.Slowest)*2/3)), t.cfg.Slots // not all at once
}

// earliest returns the earliest time that DynamoDB's clock may show at a local instant, or
// zero if it is not known.
func (t *turn) earliest(now time.Time) time.Time {
	earliest, _, ok := t.cfg.Queue.Clock().At(now)
	if !ok {
		return time.Time{}
	}
	return earliest
}

// sleep waits for d, or until it gets one of the slots. woken reports that a turn ended in
// this process, or that the waiter has become the first of its client.
func (t *turn) sleep(ctx context.Context, d time.Duration, slots chan<- struct{}) (woken bool, err error) {
	t.touch()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.local.Woken():
		woken = true
	case slots <- struct{}{}:
		t.slot = true
	case <-t.place.failed:
		return false, t.place.problem()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	t.touch()
	t.series.Reset() // the retry timeout is for failures, not for waiting
	return woken, nil
}

// report reports the progress of a waiter that continues to wait. rec is the record that
// was seen last.
func (t *turn) report(rec serving.Record) {
	if t.progress.report == nil || t.place == nil {
		return
	}
	t.progress.update(t.local)
	now := time.Now()
	t.progress.send(t.ticket, rec, t.progress.pace.estimate(rec, t.mode().Permits, t.earliest(now), now))
}
