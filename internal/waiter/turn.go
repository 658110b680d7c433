package waiter

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/sweep"
	"github.com/queuelock/queuelock/ticket"
)

// quickTries is how often a caller that will not wait tries again after the queue has
// moved, before the lock counts as busy.
const quickTries = 5

// turn is the wait of one ticket, after the waiter has entered the queue with it.
type turn struct {
	cfg      Config
	ticket   ticket.Number
	handle   Handle
	claimant *claimant
	requests *requests
	progress *progress
	series   *retry.Schedule
	snapshot rows.Snapshot // what Enter saw

	place *place             // nil with NoWait
	local *localqueue.Waiter // nil with NoWait

	rounds    int
	asked     bool // a LOOK or CLAIM was sent
	announced bool // a resumed place was
	slot      bool // the turn has one of the Slots
	left      bool
}

func newTurn(w *Waiter, snapshot rows.Snapshot) *turn {
	return &turn{
		cfg: w.cfg, ticket: w.ticket, handle: w.handle(), claimant: w.claimant, requests: w.requests, progress: w.progress,
		series: w.requests.series(), snapshot: snapshot,
	}
}

// join puts the ticket into the queue and the local queue. With careful no request is
// sent beside the ENQUEUE.
func (t *turn) join(ctx context.Context, careful bool, group *sync.WaitGroup) {
	ahead := 0 // in the wider scopes, the other tickets are mostly of other queues
	if t.cfg.Counter == nil {
		ahead = ticketsAhead(t.ticket, t.snapshot.Record)
	}
	t.local = t.cfg.Local.Join(t.cfg.Queue, t.ticket, ahead)
	t.progress.update(t.local) // before a look, nothing else is known
	t.progress.pace.turns = t.progress.status.Ahead
	r := &row{
		queue: t.cfg.Queue, log: t.cfg.Log, terms: t.cfg.Row, timeout: t.cfg.RetryTimeout, prefix: t.handle.ID,
		value: rows.Row{Ticket: t.ticket, Owner: t.cfg.Entry.Owner, Mode: t.mode().String()},
	}
	if t.cfg.Resume != nil {
		r.from = t.cfg.Resume.ID
	}
	t.place = startPlace(ctx, r, t.local, group)
	t.asked = careful
}

// leave removes the ticket from both, the row in the background.
func (t *turn) leave() {
	if t.place == nil || t.left {
		return
	}
	t.left = true
	t.progress.update(t.local)
	t.place.leave()
	t.local.Leave()
}

func (t *turn) mode() serving.Mode { return t.claimant.entry.Mode }

// touch records that the waiter is active.
func (t *turn) touch() {
	if t.local != nil {
		t.local.Touch()
	}
}

// run waits for the grant.
func (t *turn) run(ctx context.Context) (Grant, error) {
	defer func() {
		if t.slot {
			<-t.cfg.Slots
		}
	}()
	snapshot := t.snapshot
	// If no waiter can be ahead, a look would show no more than what Enter returned.
	seen := t.next(snapshot.Record)
	for {
		var err error
		if !seen {
			if snapshot, err = t.look(ctx, snapshot.Record); err != nil {
				return Grant{}, err
			}
		}
		grant, step, err := t.act(ctx, &snapshot)
		if err != nil || step == done {
			return grant, err
		}
		if seen, err = t.rest(ctx, step, &snapshot); err != nil {
			return Grant{}, err
		}
	}
}

// next reports whether no waiter can be ahead: the floor is right below the ticket.
func (t *turn) next(rec serving.Record) bool {
	return rec.Present && rec.Floor() == t.ticket.Previous()
}

// step is what follows after a snapshot was acted upon.
type step int

const (
	done        step = iota // the ticket is granted
	actAgain                // the snapshot has changed
	lookAgain               // it is too old
	keepWaiting             // a holder or waiter is in the way
)

// act does what the snapshot requires, until a look or a wait follows. It changes the
// snapshot to what the requests return.
func (t *turn) act(ctx context.Context, snapshot *rows.Snapshot) (Grant, step, error) {
	for {
		t.touch()
		if grant, ok := t.claimant.adopt(ctx, snapshot); ok {
			return grant, done, nil
		}
		if ctx.Err() != nil {
			return Grant{}, done, ctx.Err()
		}
		switch found, err := t.claimant.takeOver(ctx, t.cfg.Resume, snapshot); {
		case err != nil:
			step, err := t.failed(ctx, "resume", err)
			return Grant{}, step, err
		case found:
			continue
		}
		d := t.decide(*snapshot, nil)
		t.record(*snapshot, d)
		if step, err := t.follow(ctx, d, snapshot); err != nil || step != actAgain {
			return Grant{}, step, err
		}
	}
}

// decide observes the leases of the snapshot and decides what it means.
func (t *turn) decide(snapshot rows.Snapshot, ids []string) rows.Decision {
	return snapshot.Decide(t.cfg.Queue, t.cfg.Observer, t.ticket, t.mode(), ids)
}

// record keeps what the snapshot shows.
func (t *turn) record(snapshot rows.Snapshot, d rows.Decision) {
	t.progress.record(t.ticket, snapshot, d.Ahead)
	t.progress.status.Blocked = d.Blocked
	t.progress.pace.decided(d)
	if t.place != nil {
		t.local.Record(snapshot, d.Ahead)
		t.place.sawFloor(snapshot.Record.Floor())
	}
}

// follow does what was decided: it removes what has expired, and claims if nothing else is
// in the way.
func (t *turn) follow(ctx context.Context, d rows.Decision, snapshot *rows.Snapshot) (step, error) {
	if len(d.ExpiredRows) > 0 {
		removed, err := sweep.Rows(ctx, t.cfg.Queue, d.ExpiredRows)
		t.cfg.Log.Info("queuelock: swept expired queue rows", "queue", t.cfg.Queue.String(), "expired", len(d.ExpiredRows), "removed", removed)
		switch {
		case err != nil:
			return t.failed(ctx, "sweep", err)
		case removed < len(d.ExpiredRows):
			return lookAgain, nil
		}
		snapshot.Rows = without(snapshot.Rows, d.ExpiredRows)
	}
	if len(d.ExpiredHolders) > 0 {
		rec, err := evict(ctx, t.cfg, d.ExpiredHolders)
		if err != nil {
			return t.failed(ctx, "evict", err)
		}
		snapshot.Saw(rec)
		return actAgain, nil
	}
	switch d.Do {
	case rows.Overtaken:
		t.cfg.Log.Warn("queuelock: a waiter stalled, was overtaken and takes a new ticket", "queue", t.cfg.Queue.String(), "ticket", t.ticket)
		return done, errOvertaken
	case rows.NewTicket:
		return done, ErrNewTicket
	case rows.Wait:
		if d.Stuck != nil {
			return done, d.Stuck
		}
		t.report(snapshot.Record)
		return keepWaiting, nil
	}
	return t.claim(ctx, snapshot)
}

// claim sends CLAIM, and changes the snapshot to the record that is returned.
func (t *turn) claim(ctx context.Context, snapshot *rows.Snapshot) (step, error) {
	if err := t.awaitRow(ctx); err != nil {
		return t.failed(ctx, "claim", err)
	}
	rec, err := t.claimant.claim(ctx, t.ticket)
	switch {
	case err == nil:
		snapshot.Saw(rec)
		return actAgain, nil
	case !errors.Is(err, serving.ErrRefused):
		return t.failed(ctx, "claim", err)
	}
	if err := t.cfg.fits(rec, t.mode()); err != nil {
		return done, err // the record was deleted and seeded again
	}
	snapshot.Saw(rec)
	snapshot.Rows = nil
	if again := t.decide(*snapshot, t.claimant.attempts.ids()); again.Do == rows.Claim {
		return lookAgain, nil // the queue has moved since
	}
	return actAgain, nil
}

// failed returns what follows a failed request: after a transient failure another look,
// which it pauses for.
func (t *turn) failed(ctx context.Context, what string, err error) (step, error) {
	if ctx.Err() == nil && t.place != nil {
		select {
		case <-t.place.failed: // another attempt does not help
			return done, t.place.problem()
		default:
		}
	}
	return lookAgain, t.requests.pause(ctx, t.series, what, err)
}

// evict removes holders whose leases have ended.
func evict(ctx context.Context, c Config, expired []serving.Holder) (serving.Record, error) {
	rec, evicted, err := sweep.Holders(ctx, c.Queue, expired)
	if evicted > 0 {
		c.Log.Warn("queuelock: evicted holders whose leases had ended", "queue", c.Queue.String(),
			"ticket", expired[0].Ticket, "owner", expired[0].Owner, "evicted", evicted)
	}
	return rec, err
}

// without returns the rows that were not removed.
func without(all, removed []rows.Row) []rows.Row {
	return slices.DeleteFunc(slices.Clone(all), func(row rows.Row) bool {
		return slices.ContainsFunc(removed, row.Same)
	})
}
