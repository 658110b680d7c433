package waiter

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/grace"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/sweep"
	"github.com/queuelock/queuelock/internal/table"
)

// quickTries is how often a caller that will not wait goes round again, after
// others moved while it looked, before the lock counts as busy.
const quickTries = 5

// turn is one ticket's wait, from the TAKE that was not served.
type turn struct {
	*Waiter
	place   *place             // nil if the caller will not wait
	spot    *localqueue.Waiter // nil if the caller will not wait
	retries *retry.Schedule
	rounds  int
	asked   bool // a LOOK or CLAIM was sent
	placed  bool // a resumed place was told
	eager   bool // it has one of the Slots
}

// wait waits for the waiter's ticket to be served. snapshot is what TAKE returned.
// It returns errTakeAnew if the ticket is worth nothing any more.
func (w *Waiter) wait(ctx context.Context, snapshot rows.Snapshot, noWait bool) (Grant, error) {
	t := &turn{Waiter: w, retries: retry.For(w.patience(noWait))}
	if !noWait {
		if err := w.announce(ctx); err != nil {
			return Grant{}, err
		}
		t.join(ctx, snapshot.Record)
		defer t.leave()
	}
	return t.run(ctx, snapshot, noWait)
}

// announce gives the handle of the place to Placed, before the row is put. There
// is no row while Placed's receiver takes its time, so no other waiter waits for it.
func (w *Waiter) announce(ctx context.Context) error {
	if w.Placed == nil || w.Resume != nil {
		return nil
	}
	select {
	case <-w.Placed(w.handle()):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join puts the ticket into the queue and into the line of this process. rec is
// the record as last seen.
func (t *turn) join(ctx context.Context, rec serving.Record) {
	ahead := 0 // in the wider scopes, other tickets are other queues'
	if t.Counter == nil {
		ahead = ticketsAhead(t.ticket, rec)
	}
	t.spot = t.Lines.Join(t.Queue, t.ticket, ahead)
	t.recount() // before a look, nothing else is known
	t.pace.turns = t.standing.Ahead
	t.place = t.enqueue(ctx, t.spot)
	t.row = t.place
	t.asked = t.careful // stalled before: nothing runs beside the ENQUEUE
}

// leave takes it out of both, the row in the background.
func (t *turn) leave() {
	t.recount()
	t.place.leave()
	t.spot.Leave()
}

// attend says that the waiter is at work: see localqueue.Waiter.Attend.
func (t *turn) attend() {
	if t.spot != nil {
		t.spot.Attend()
	}
}

// run waits for the ticket to be served.
func (t *turn) run(ctx context.Context, snapshot rows.Snapshot, noWait bool) (Grant, error) {
	// With the floor right below the ticket nobody can be ahead, and what TAKE
	// returned is all there is to see.
	seen := t.next(snapshot.Record)
	for {
		var err error
		if !seen {
			if snapshot, err = t.look(ctx, snapshot.Record); err != nil {
				return Grant{}, err
			}
		}
		seen = false
		step, grant, err := t.act(ctx, &snapshot)
		switch step {
		case done:
			return grant, err
		case lookAgain:
			if t.failure != nil {
				continue // nothing has moved; patience bounds failures
			}
			if t.rounds++; noWait && t.rounds > quickTries {
				return Grant{}, ErrBusy
			}
		case keepWaiting:
			if noWait {
				return Grant{}, ErrBusy
			}
			delay, slots := t.pace.delay(ctx, t.Waiter, snapshot.Record), t.Slots
			if t.eager || slots == nil {
				slots = nil // which never has one
			} else {
				delay = max(delay, t.pace.slowest(ctx, t.Waiter))
			}
			woken, err := t.rest(ctx, delay, slots)
			if err != nil {
				return Grant{}, err
			}
			if seen = woken && t.next(snapshot.Record); seen {
				// A turn ended in this process, and nobody can be ahead: try
				// without a look.
				snapshot = rows.SnapshotOf(emptied(snapshot.Record))
			}
		}
	}
}

// next reports whether nobody can be ahead of the ticket.
func (t *turn) next(rec serving.Record) bool {
	return rec.Present && rec.Floor() == t.ticket.Previous()
}

// emptied is the record as it would be with its holder gone. It is a guess,
// and CLAIM decides.
func emptied(rec serving.Record) serving.Record {
	rec.Holders = nil
	return rec
}

// step is what follows a look.
type step int

const (
	done step = iota
	lookAgain
	keepWaiting
)

// act does what the snapshot asks for. It changes the snapshot to what the requests
// it makes return.
func (t *turn) act(ctx context.Context, snapshot *rows.Snapshot) (step, Grant, error) {
	for {
		t.attend()
		if grant, ok := t.served(ctx, snapshot); ok {
			return done, grant, nil
		}
		if ctx.Err() != nil {
			return done, Grant{}, ctx.Err()
		}
		switch found, err := t.takeOver(ctx, snapshot); {
		case err != nil:
			return t.failed(ctx, "resume", err)
		case found:
			continue
		}
		j := snapshot.Decide(t.Queue, t.ticket, t.Mode, nil, t.Observer)
		t.note(*snapshot, j.Ahead)
		if t.spot != nil {
			t.spot.Saw(*snapshot, j.Ahead)
		}
		t.standing.Blocked = j.Blocked
		t.pace.judged(j)
		if t.place != nil {
			t.place.sawFloor(snapshot.Record.Floor())
		}

		if len(j.DeadRows) > 0 {
			removed, err := sweep.Rows(ctx, t.Queue, j.DeadRows)
			t.Log.Info("queuelock: swept expired queue rows", "queue", t.Queue.String(), "expired", len(j.DeadRows), "removed", removed)
			if err != nil {
				return t.failed(ctx, "sweep", err)
			}
			if removed < len(j.DeadRows) {
				return lookAgain, Grant{}, nil
			}
			snapshot.Rows = without(snapshot.Rows, j.DeadRows)
		}
		if len(j.DeadHolders) > 0 {
			rec, err := t.evict(ctx, j.DeadHolders)
			if err != nil {
				return t.failed(ctx, "evict", err)
			}
			snapshot.Saw(rec)
			continue
		}

		switch j.Do {
		case rows.Overtaken:
			t.Log.Warn("queuelock: a waiter stalled, was overtaken and takes a new ticket", "queue", t.Queue.String(), "ticket", t.ticket)
			t.careful = true
			return done, Grant{}, errTakeAnew
		case rows.TakeAnew:
			return done, Grant{}, errTakeAnew
		case rows.Wait:
			if j.Stuck != nil {
				return done, Grant{}, j.Stuck
			}
			t.tell(snapshot.Record)
			return keepWaiting, Grant{}, nil
		}

		rec, err := t.claim(ctx)
		switch {
		case errors.Is(err, serving.ErrRefused):
			if err := cmp.Or(t.scope().Fits(rec), t.Mode.Fits(rec)); err != nil {
				return done, Grant{}, err // it was made anew
			}
			snapshot.Saw(rec)
			snapshot.Rows = nil
			if again := snapshot.Decide(t.Queue, t.ticket, t.Mode, t.ids(), t.Observer); again.Do == rows.Claim {
				return lookAgain, Grant{}, nil // it has moved on since
			}
		case err != nil:
			return t.failed(ctx, "claim", err)
		default:
			snapshot.Saw(rec)
		}
	}
}

// besideEnqueue lets the first LOOK or CLAIM run beside the ENQUEUE, and any
// other wait for its answer.
func (t *turn) besideEnqueue(ctx context.Context) error {
	if !t.asked || t.place == nil {
		t.asked = true
		return nil
	}
	select {
	case <-t.place.stands:
		if t.Placed != nil && t.Resume != nil && !t.placed {
			t.placed = true // until here the handle that is resumed is the good one
			t.Placed(t.handle())
		}
		return nil
	case <-t.place.failed:
		return placeProblem(t.place.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// claim sends CLAIM, with a new id.
func (t *turn) claim(ctx context.Context) (serving.Record, error) {
	if err := t.besideEnqueue(ctx); err != nil {
		return serving.Record{}, err
	}
	a, e := t.newAttempt(true)
	patient, cancel := grace.Context(ctx, answerGrace)
	defer cancel()
	rec, err := serving.Claim(patient, t.Queue, e, t.ticket)
	a.unknown = err != nil && !errors.Is(err, serving.ErrRefused) && table.Applied(err, true)
	return rec, err
}

// evict removes holders whose leases have ended.
func (w *Waiter) evict(ctx context.Context, dead []serving.Holder) (serving.Record, error) {
	rec, evicted, err := sweep.Holders(ctx, w.Queue, dead)
	if evicted > 0 {
		w.Log.Warn("queuelock: evicted holders whose leases had ended", "queue", w.Queue.String(),
			"ticket", dead[0].Ticket, "owner", dead[0].Owner, "evicted", evicted)
	}
	return rec, err
}

// look reads the queue, again and again if that fails in passing. All but the
// first waiter of a process rest instead: they cannot be next.
func (t *turn) look(ctx context.Context, last serving.Record) (rows.Snapshot, error) {
	t.attend()
	for t.spot != nil && !t.spot.First() {
		t.pace.turns = t.spot.Ahead()
		t.tell(last)
		if _, err := t.rest(ctx, t.Schedule.Slowest, nil); err != nil {
			return rows.Snapshot{}, err
		}
	}
	if err := t.besideEnqueue(ctx); err != nil {
		return rows.Snapshot{}, err
	}
	for {
		t.attend()
		snapshot, err := t.lookOnce(ctx, last)
		switch {
		case err == nil:
			t.failure = nil
			return snapshot, nil
		case !table.Unanswered(err):
			return rows.Snapshot{}, err
		case ctx.Err() != nil:
			if t.place == nil {
				t.unanswered(err)
			}
			return rows.Snapshot{}, ctx.Err()
		}
		if err := t.again(ctx, t.retries, "look", err); err != nil {
			return rows.Snapshot{}, err
		}
	}
}

// lookOnce sends one LOOK. A caller whose wait ends meanwhile still learns
// whether the table answers: by this request, or by the delete of its row.
func (t *turn) lookOnce(ctx context.Context, last serving.Record) (rows.Snapshot, error) {
	if t.place == nil {
		var cancel context.CancelFunc
		ctx, cancel = grace.Context(ctx, answerGrace)
		defer cancel()
	}
	return rows.Look(ctx, t.Queue, t.ticket, last.Floor())
}

// failed decides what follows a request that failed while the turn was acted
// upon: another look, after a pause, if it failed in passing.
func (t *turn) failed(ctx context.Context, what string, err error) (step, Grant, error) {
	if ctx.Err() != nil {
		return done, Grant{}, ctx.Err()
	}
	if t.place != nil {
		select {
		case <-t.place.failed: // which waiting does not mend
			return done, Grant{}, placeProblem(t.place.err)
		default:
		}
	}
	if !table.Transient(err) {
		return done, Grant{}, err
	}
	if err := t.again(ctx, t.retries, what, err); err != nil {
		return done, Grant{}, err
	}
	return lookAgain, Grant{}, nil
}

// rest sleeps. It reports whether it was woken because a turn ended in this
// process, or because the waiter has become the first of its line. It ends as well
// when the turn gets one of the slots, which it keeps.
func (t *turn) rest(ctx context.Context, d time.Duration, slots chan<- struct{}) (woken bool, err error) {
	t.attend()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.spot.Woken():
		woken = true
	case slots <- struct{}{}:
		t.eager = true
	case <-t.place.failed:
		return false, placeProblem(t.place.err)
	case <-ctx.Done():
		return false, ctx.Err()
	}
	t.attend()
	t.retries.Reset() // patience is for failures, not for waiting
	return woken, nil
}

// placeProblem: somebody else's row at the ticket is mended by another ticket.
func placeProblem(err error) error {
	if errors.Is(err, rows.ErrTaken) {
		return errTakeAnew
	}
	return err
}

// without returns the rows that were not removed.
func without(all, removed []rows.Row) []rows.Row {
	return slices.DeleteFunc(slices.Clone(all), func(row rows.Row) bool {
		return slices.ContainsFunc(removed, row.Same)
	})
}

// note keeps what was seen: for the error if the wait is over, and for the
// schedule.
func (w *Waiter) note(snapshot rows.Snapshot, ahead int) {
	w.standing = Standing{
		Ticket:  w.ticket,
		Ahead:   ahead,
		Serving: snapshot.Record.Holders,
		SeenAt:  snapshot.ReadAt,
	}
	w.pace.see(snapshot, ahead)
	w.pace.turns = ahead
}
