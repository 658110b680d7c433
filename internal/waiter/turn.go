package waiter

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// turn is the wait of one ticket, after the waiter has entered the queue with it.
type turn struct {
	place     *place             // nil with NoWait
	local     *localqueue.Waiter // nil with NoWait
	rounds    int                // looks at a queue that has moved
	asked     bool               // a LOOK or CLAIM was sent
	announced bool               // a resumed place was
	slot      bool               // the turn has one of the Slots
	offered   *attempt           // of the present offer, see offer
	left      bool               // it is not to be left again: its local place is out of date
	hints     int                // since the last verdict on them, see judge
	hinted    time.Time          // the last of them
	early     int                // requests since then that were too early, if the hints are true
	heeded    bool               // the first of them was sent because of a hint
	woken     bool               // since the last snapshot: turns may have ended without a hint
	kept      bool               // the row stays: the lock was granted by its name
	foreseen  bool               // a look has shown the row before the turn of the ticket before began
	next      *queue.Waiter      // with the ticket after, as the last look showed it
	nextAt    time.Time          // of that look
}

func (w *Waiter) handle() Handle { return Handle{ID: w.id, Ticket: w.ticket} }

// join begins the wait of the waiter's ticket: it puts the ticket into the queue and the local queue.
func (w *Waiter) join(ctx context.Context) error {
	w.series.Reset()
	if w.cfg.NoWait {
		w.turn = turn{}
		return nil
	}
	if w.cfg.Placed != nil && w.cfg.Resume == nil {
		select {
		case <-w.cfg.Placed(w.handle()): // before the row is put: a slow receiver delays no other waiter
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	ahead := 0 // in the wider scopes, the other tickets are mostly of other queues
	if w.cfg.Counter == nil {
		ahead = ticketsAhead(w.ticket, w.snapshot.Record)
	}
	local := w.cfg.Local.Join(w.cfg.Queue, w.ticket, ahead)
	w.turn = turn{local: local, place: w.startPlace(ctx, local), asked: w.careful, woken: true}
	if id := w.turn.place.row.EntryID; id != "" {
		w.attempts = append(w.attempts, &attempt{id: id, sent: w.attempts[len(w.attempts)-1].sent, claimed: true, place: w.turn.place})
	}
	w.progress.update(local) // before a look, nothing else is known
	w.progress.pace.Behind(w.progress.status.Ahead)
	return nil
}

// leave removes the ticket from both, the row in the background.
func (w *Waiter) leave() {
	if w.turn.place != nil && !w.turn.left {
		w.turn.left = true
		w.progress.update(w.turn.local)
		if !w.turn.kept {
			w.turn.place.cancel()
		}
		w.turn.local.Leave()
	}
}

func (w *Waiter) touch() {
	if w.turn.local != nil {
		w.turn.local.Touch()
	}
}

func (w *Waiter) await(ctx context.Context) (grant *Grant, err error) {
	// If no waiter can be ahead, a look would show no more than what Enter returned, unless the turn that it showed has
	// ended since, before the waiter could be woken.
	open := len(w.snapshot.Record.Holders) == 0
	seen := w.next() && (open || !w.attempts.before(w.cfg.Local.Ended(w.cfg.Queue)))
	for step := done; ; {
		if !seen {
			if err := w.look(ctx); err != nil {
				return nil, err
			}
		}
		if grant, step, err = w.act(ctx); err != nil || step == done {
			return grant, err
		}
		if seen, err = w.rest(ctx, step); err != nil {
			return nil, err
		}
	}
}

// next reports whether no waiter can be ahead: the floor is right below the ticket.
func (w *Waiter) next() bool {
	rec := w.snapshot.Record
	return rec.Present && rec.Floor() == w.ticket.Previous()
}

// step is what follows after a snapshot was acted upon.
type step int

const (
	done        step = iota // the ticket is granted
	actAgain                // the snapshot has changed
	lookAgain               // it is too old
	keepWaiting             // a holder or waiter is in the way
)

// act does what the snapshot requires, until a look or a wait follows.
func (w *Waiter) act(ctx context.Context) (*Grant, step, error) {
	for {
		if grant, err := w.settle(ctx); err != nil {
			step, err := w.failed(ctx, "resume", err)
			return nil, step, err
		} else if grant != nil {
			return grant, done, nil
		}
		d := w.decide(w.ticket, nil)
		before := w.progress.status.Serving
		w.progress.record(w.ticket, w.snapshot, d.Ahead)
		w.judge(before, w.snapshot.Record.Holders)
		w.progress.status.Blocked = d.Blocked
		w.progress.pace.Decided(d)
		if w.turn.place != nil {
			w.turn.local.Record(w.snapshot, d.Ahead)
			w.turn.place.below(w.ticket.Compare(w.snapshot.Record.Floor()) <= 0)
		}
		if step, err := w.follow(ctx, d); err != nil || step != actAgain {
			return nil, step, err
		}
	}
}

// settle looks for an own id in the record, and returns its grant, or nil. A Resume also takes over a holder that its
// handle names.
func (w *Waiter) settle(ctx context.Context) (*Grant, error) {
	for {
		w.touch()
		if grant := w.adopt(ctx); grant != nil {
			return grant, nil
		}
		for _, a := range w.attempts {
			w.drop(ctx, a) // if it failed before
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if found, err := w.takeOver(ctx); err != nil || !found {
			return nil, err
		}
	}
}

// decide observes the leases of the snapshot and decides what it means for a ticket.
func (w *Waiter) decide(t ticket.Number, ids []string) queue.Decision {
	return w.snapshot.Decide(w.observe(), t, w.Mode(), ids)
}

// follow does what was decided: it removes what has expired, and claims if nothing else is in the way.
func (w *Waiter) follow(ctx context.Context, d queue.Decision) (step, error) {
	if len(d.ExpiredRows)+len(d.ExpiredHolders) > 0 && w.withdraw(ctx) {
		return actAgain, nil
	}
	if len(d.ExpiredRows) > 0 {
		removed, err := sweeper.Rows(ctx, w.cfg.Queue, d.ExpiredRows)
		notify.Send(w.cfg.Log, event.Swept{Origin: w.cfg.Log.Origin(w.ticket), Expired: len(d.ExpiredRows), Removed: removed})
		switch {
		case err != nil:
			return w.failed(ctx, "sweep", err)
		case removed < len(d.ExpiredRows):
			return lookAgain, nil
		}
		w.snapshot.Rows = without(w.snapshot.Rows, d.ExpiredRows)
	}
	if len(d.ExpiredHolders) > 0 {
		rec, err := w.evict(ctx, d.ExpiredHolders)
		if err != nil {
			return w.failed(ctx, "evict", err)
		}
		w.snapshot.Saw(rec, time.Now())
		return actAgain, nil
	}
	switch d.Do {
	case queue.ActionOvertaken:
		w.cfg.Log.Warn("queuelock: a waiter stalled, was overtaken and takes a new ticket",
			"queue", w.cfg.Queue.String(), "ticket", w.ticket)
		return done, errOvertaken
	case queue.ActionNewTicket:
		return done, ErrNewTicket
	case queue.ActionWait:
		if d.Stuck != nil {
			return done, d.Stuck
		}
		if slices.ContainsFunc(w.snapshot.Record.Holders, w.doubts) {
			return lookAgain, nil
		}
		w.report()
		return keepWaiting, nil
	}
	return w.claim(ctx)
}

// claim sends CLAIM with a new id. The record that is returned replaces that of the snapshot.
func (w *Waiter) claim(ctx context.Context) (step, error) {
	if w.withdraw(ctx) {
		return actAgain, nil
	}
	if err := w.awaitRow(ctx); err != nil {
		return w.failed(ctx, "claim", err)
	}
	a, entry := w.attempt(true)
	rec, err := retry.Answer(ctx, answered, func(ctx context.Context) (queue.Record, error) {
		return serving.Claim(ctx, w.cfg.Queue, entry, w.ticket)
	})
	switch {
	case err == nil:
		w.snapshot.Saw(rec, time.Now())
		return actAgain, nil
	case !errors.Is(err, serving.ErrRefused):
		a.unknown = table.Applied(err)
		return w.failed(ctx, "claim", err)
	}
	if err := w.fits(rec); err != nil {
		return done, err // the record was deleted and seeded again
	}
	w.snapshot.Saw(rec, time.Now())
	w.snapshot.Rows = nil
	if again := w.decide(w.ticket, w.attempts.ids()); again.Do == queue.ActionClaim {
		return lookAgain, nil // the queue has moved since
	}
	return actAgain, nil
}

// failed returns what follows a failed request: after a transient failure another look, which it pauses for.
func (w *Waiter) failed(ctx context.Context, what string, err error) (step, error) {
	if ctx.Err() == nil && w.turn.place != nil {
		select {
		case <-w.turn.place.failed: // another attempt does not help
			return done, w.turn.place.err
		default:
		}
	}
	return lookAgain, w.pause(ctx, what, err)
}

func (w *Waiter) evict(ctx context.Context, expired []queue.Holder) (queue.Record, error) {
	rec, evicted, err := sweeper.Holders(ctx, w.cfg.Queue, expired)
	if evicted > 0 {
		notify.Send(w.cfg.Log, event.Evicted{
			Origin: w.cfg.Log.Origin(w.ticket), Count: evicted, Holder: expired[0].Ticket, Owner: expired[0].Owner,
		})
	}
	return rec, err
}

func without(all, removed []queue.Waiter) []queue.Waiter {
	return slices.DeleteFunc(slices.Clone(all), func(row queue.Waiter) bool {
		return slices.ContainsFunc(removed, row.Same)
	})
}

// look reads the queue. All but the first waiter of the client sleep first, as they cannot be next, unless they have an
// entry to remove. It reads nothing if the lock is passed to the waiter, or if the line has just seen the turn before its own begin.
func (w *Waiter) look(ctx context.Context) error {
	w.touch()
	for w.turn.local != nil && !w.turn.local.First() && !slices.ContainsFunc(w.attempts, w.remains) {
		w.progress.pace.Behind(w.turn.local.Ahead())
		w.report()
		if after, err := w.sleep(ctx, w.cfg.Schedule.Slowest, nil); err != nil || after == passed {
			return err
		}
	}
	if err := w.awaitRow(ctx); err != nil {
		return err
	}
	if w.shown() || w.withdraw(ctx) {
		return nil
	}
	return w.readRows(ctx)
}

// readRows reads the record and the rows ahead, and what hand-over by name needs.
func (w *Waiter) readRows(ctx context.Context) error {
	period := answerGrace
	if w.turn.place != nil {
		period = 0 // the delete of its row shows whether the table answers
	}
	floor, named := w.snapshot.Record.Floor(), w.turn.place != nil && w.turn.place.row.EntryID != ""
	if slices.ContainsFunc(w.snapshot.Record.Holders, func(h queue.Holder) bool { return !h.Accepted() }) {
		floor = ticket.Number{} // the row of the holder is of interest too
	}
	w.looks++
	err := w.read(ctx, period, func(ctx context.Context) (queue.Snapshot, error) {
		if named {
			return rows.LookNext(ctx, w.cfg.Queue, w.ticket)
		}
		return rows.Look(ctx, w.cfg.Queue, w.ticket, floor)
	})
	if err == nil {
		w.turn.next, w.turn.nextAt = w.snapshot.Next, w.snapshot.ReadAt
		w.turn.foreseen = w.turn.foreseen || w.snapshot.Own && w.snapshot.Record.Floor().Less(w.ticket.Previous())
	}
	return err
}

// shown takes over the latest record that the line has seen, if it is new and no waiter can be ahead.
func (w *Waiter) shown() bool {
	if w.turn.local == nil {
		return false
	}
	rec, at := w.turn.local.LastSeen()
	recent := w.snapshot.ReadAt.Before(at) && time.Since(at) <= w.cfg.Schedule.Fastest
	if !recent || rec.Floor() != w.ticket.Previous() || !rec.Follows(w.snapshot.Record) {
		return false
	}
	w.snapshot = queue.Snapshot{Record: rec, ReadAt: at}
	return true
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
	if after == lookAgain && w.failure == nil {
		w.turn.rounds++ // after a failure nothing has moved, and the retry timeout bounds failures
	}
	switch {
	case w.cfg.NoWait && (after == keepWaiting || w.turn.rounds > quickTries):
		return false, ErrBusy
	case after == lookAgain:
		return false, nil
	}
	d, slots := w.delay(ctx)
	switch why, err := w.sleep(ctx, d, slots); {
	case err != nil, why == passed:
		return err == nil, err
	case !w.next(), w.expected(), why != woken && !w.mayHaveEnded():
		return false, nil
	}
	// No waiter can be ahead, and the turn has ended, or should have. CLAIM decides whether that is right.
	after, err = w.claim(ctx)
	return after == actAgain, err
}

// mayHaveEnded reports whether the turn in the way may have ended unseen, for all that is known of turns.
func (w *Waiter) mayHaveEnded() bool {
	return !w.heldByOwn() && w.progress.pace.MayHaveEnded(w.snapshot.Record, time.Now())
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
		Record: w.snapshot.Record, Permits: w.Mode().Permits, Ahead: w.progress.status.Ahead, Own: w.heldByOwn(), Hints: w.hints(),
		Now: now, Earliest: earliest, Middle: clock.Middle(now),
	}
	if w.turn.place != nil && w.turn.place.row.EntryID != "" {
		v.Row = w.cfg.Row.TTL
	}
	return v
}

// heldByOwn reports whether this client holds the lock, and the waiter is next.
func (w *Waiter) heldByOwn() bool {
	holders := w.snapshot.Record.Holders
	return w.next() && len(holders) == 1 && w.turn.local.Own(holders[0].ID)
}

// waking is why a sleep has ended.
type waking int

const (
	overslept waking = iota // its time is over, or it has got a slot
	woken                   // a turn has probably ended, or the waiter has become the first of its client
	passed                  // a release of this client has granted the lock to the waiter: the snapshot shows it
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
	if t.local.Taken() && w.withdraw(ctx) {
		return passed, nil
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
// user's item may be released with an update. The offer ends with the next request of the waiter.
func (w *Waiter) offer() {
	if w.cfg.Counter != nil || w.cfg.Queue.Home != nil || w.cfg.Resume != nil || w.Mode().Permits > 0 {
		return
	}
	if w.turn.offered == nil {
		w.turn.offered, _ = w.attempt(true)
	}
	w.turn.local.Offer(w.turn.offered.begin(w))
}

// withdraw ends the offer, and reports whether a release has granted the lock to the waiter: the snapshot shows it.
func (w *Waiter) withdraw(ctx context.Context) bool {
	if w.turn.local == nil {
		return false
	}
	answer := w.turn.local.Withdraw()
	if answer == nil {
		return false
	}
	a := w.turn.offered
	w.turn.offered = nil
	ctx, cancel := retry.Outlive(ctx, answerGrace)
	defer cancel()
	select {
	case got := <-answer:
		refused := errors.Is(got.Err, serving.ErrRefused)
		if _, mine := got.Record.Mine(a.id); mine && (got.Err == nil || refused) { // refused: by a copy of itself
			w.snapshot, a.passed = queue.SnapshotOf(got.Record, time.Now()), true
			w.turn.woken = true
			return true
		}
		a.unknown = !refused && (got.Err == nil || table.Applied(got.Err))
	case <-ctx.Done():
		a.unknown = true
	}
	return false
}

// report reports the progress of a waiter that continues to wait.
func (w *Waiter) report() {
	p, rec := w.progress, w.snapshot.Record
	if w.turn.place == nil {
		return
	}
	p.update(w.turn.local)
	w.noteOwn()
	if p.report != nil {
		p.send(w.ticket, rec, w.estimate())
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
			"queue", w.cfg.Queue.String(), "ticket", w.ticket, "own", holders[i].Ticket)
	}
}

// estimate returns how long the turns before the waiter's own are likely to take, from what it has seen.
func (w *Waiter) estimate() waitpolicy.Estimate {
	if w.snapshot.ReadAt.IsZero() {
		return waitpolicy.Estimate{}
	}
	now := time.Now()
	earliest, _, _ := w.cfg.Queue.Clock().At(now)
	return w.progress.pace.Estimate(w.snapshot.Record, w.Mode().Permits, earliest, now)
}
