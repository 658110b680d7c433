package waiter

import (
	"cmp"
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// clock answers what the machine asks about leases.
type clock struct{ *player }

func (c clock) Now() time.Time { return time.Now() }

func (c clock) Begin() (queue.Lease, time.Time) {
	return c.cfg.Entry.Terms.Begin(c.cfg.Queue.Clock(), time.Now())
}

func (c clock) Usable(lease queue.Lease, sent time.Time, named bool) bool {
	terms, now, rest := c.cfg.Entry.Terms, time.Now(), time.Duration(0)
	if named {
		terms = c.cfg.Row
		rest = min(queue.AcceptAfter, terms.TTL/4) // for the first heartbeat
	}
	return now.Add(rest).Before(terms.Deadline(sent)) && terms.OwnerEndsFirst(c.cfg.Queue.Clock(), lease.Until, sent, now)
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

func (c clock) At(local time.Time) (earliest, latest time.Time, known bool) {
	return c.cfg.Queue.Clock().At(local)
}

// player plays the machine of the wait, and paces it.
type player struct {
	sender
	sight   sight
	turn    turn    // of the last ticket
	highest Highest // ticketNumber of a record that was seen
}

// step steps the machine.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (p *player) step(e queue.Event) *queue.Do {
	before := p.wait.State
	do := p.wait.Step(clock{p}, e)
	p.note(before, e, &do)
	return &do
}

// play plays the machine until it has joined the queue, or the wait is over. If ctx ends, what is under way is answered first,
// and a lock that was granted meanwhile is returned.
func (p *player) play(ctx context.Context, do *queue.Do) (*queue.Do, error) {
	for {
		switch do.State {
		case queue.Joining, queue.Granted, queue.Ended, queue.Left:
			return do, nil
		case queue.Keeping, queue.Removing, queue.Resetting:
		default:
			failed := do.State == queue.Pausing && !table.Unanswered(p.err) // says more than the end of ctx
			if ctx.Err() != nil && !failed {
				return do, ctx.Err()
			}
		}
		p.turn.touch()
		var e queue.Event
		var err error
		switch do.State {
		case queue.Resting:
			e, err = p.rest(ctx)
		case queue.Pausing:
			if err = p.turn.failed(); err == nil { // else another attempt does not help
				e, err = queue.Again{}, p.pause(ctx)
			}
		case queue.Putting:
			e, err = queue.Put{}, p.awaitRow(ctx)
		case queue.Keeping:
			p.turn.kept = p.turn.place != nil && !p.turn.left && p.turn.place.hold()
			e = queue.Kept{OK: p.turn.kept}
		case queue.Looking:
			if e, err = p.behind(ctx); e == nil && err == nil {
				e = p.look(ctx, do)
			}
		case queue.Checking:
			e = p.read(ctx, 0, do)
		case queue.Removing, queue.Resetting:
			e = p.cleanUp(ctx, do)
		default:
			e = p.request(ctx, do)
		}
		if err != nil {
			return do, err
		}
		do = p.step(e)
	}
}

// behind sleeps while the waiter need not look. The event is nil unless the lock is passed to it.
func (p *player) behind(ctx context.Context) (queue.Event, error) {
	for p.follows() {
		p.sight.pace.Behind(p.turn.local.Ahead().Rows)
		p.sight.report()
		_, _, passed := p.turn.local.Rest(ctx, p.cfg.Schedule.Slowest, nil)
		if e, err := p.ended(ctx, passed); e != nil || err != nil {
			return e, err
		}
	}
	return nil, nil
}

// follows reports whether the waiter is not the first of its client, which alone can be next, unless it has an entry to remove, or
// must see what its policy asks for.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (p *player) follows() bool {
	return p.turn.local != nil && !p.turn.local.First() && !p.wait.Shown(p.wait.Snapshot) && !p.watches()
}

// watches reports whether the waiter looks although it is not the first of its client: one that may be superseded always, and
// one that has a limit once its row is in the table, and after each row of its client that comes ahead of it later.
func (p *player) watches() bool {
	policy := p.cfg.Policy
	return policy.Group != "" || policy.Limited && (!p.sight.turn.looked || p.turn.local.Late())
}

// look reads the queue. It reads nothing if the line has just seen the turn before its own begin.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (p *player) look(ctx context.Context, do *queue.Do) queue.Event {
	if shown, ok := p.shown(); ok && !do.Later {
		return queue.Seen{Snapshot: shown}
	}
	if p.turn.local != nil {
		p.turn.local.Looks()
	}
	turns := 0 // see rows.Look
	if p.sight.turn.byName {
		turns = 1
	}
	e := p.read(ctx, turns, do)
	if seen, ok := e.(queue.Seen); ok {
		t, s := &p.sight.turn, &seen.Snapshot
		t.looked = true
		t.next = handover.Row{Row: s.Next, ReadAt: s.ReadAt}
		t.foreseen = t.foreseen || s.Own && s.Record.Reach().Less(p.wait.Ticket.Previous())
	}
	return e
}

// shown returns the latest record that the line has seen, if it is new and no waiter can be ahead.
func (p *player) shown() (s queue.Snapshot, ok bool) {
	if p.turn.local == nil {
		return s, false
	}
	rec, at := p.turn.local.LastSeen()
	recent := p.wait.Snapshot.ReadAt.Before(at) && time.Since(at) <= p.cfg.Schedule.Fastest
	ok = recent && rec.Reach() == p.wait.Ticket.Previous() && rec.Follows(p.wait.Snapshot.Record)
	return queue.Snapshot{Record: rec, ReadAt: at}, ok
}

// awaitRow waits until the waiter's row is in the table.
func (p *player) awaitRow(ctx context.Context) error {
	t := &p.turn
	if t.place == nil {
		return nil
	}
	select {
	case <-t.place.inserted:
		if p.cfg.Placed != nil && p.cfg.Resume != nil && !t.announced {
			t.announced = true // until here the old handle is valid
			p.cfg.Placed(p.handle())
		}
		return nil
	case <-t.place.failed:
		return t.place.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// note keeps what a step has shown: for reports, for the pace, and for the other waiters of the client.
func (p *player) note(before queue.Doing, e queue.Event, do *queue.Do) {
	p.numbered(before, e, do)
	if d := do.Decision; d != nil {
		p.decided(d)
	}
	q, t := p.cfg.Queue.String(), p.wait.Ticket
	replied, _ := e.(queue.Replied)
	switch {
	case do.Late != nil:
		p.cfg.Log.Warn("queuelock: a grant came too late to be used, or is malformed",
			"queue", q, "ticket", t, "problem", do.Late.Problem)
	case before == queue.Confirming && replied.Reply == queue.ReplyLost:
		p.cfg.Log.Warn("queuelock: a fail-closed grant was not confirmed in time", "queue", q, "ticket", t)
	case do.State == queue.Ended && do.Why == queue.WhyOvertaken && before != queue.Removing && before != queue.Resetting:
		p.cfg.Log.Warn("queuelock: a waiter stalled, was overtaken and takes a new ticket", "queue", q, "ticket", t)
	}
	switch do.State {
	case queue.Confirming, queue.Granted:
		if p.turn.local != nil && !p.turn.arrived {
			p.arrive(do)
		}
		if do.State == queue.Confirming && before != queue.Pausing {
			p.series.Reset()
		}
	}
}

// numbered notes the ticket with which the waiter enters the queue, and the record that a request to enter has shown.
func (p *player) numbered(before queue.Doing, e queue.Event, do *queue.Do) {
	r, ok := e.(queue.Replied)
	if !ok || before != queue.Taking && before != queue.Entering || r.Reply >= queue.ReplyFailed {
		return
	}
	if before == queue.Entering {
		p.raise(Highest{r.Record.TicketNumber, p.cfg.Queue})
		p.sight.record(p.wait.Ticket, &p.wait.Snapshot, handover.Ahead{})
	}
	if r.Reply == queue.ReplyRefused || do.State == queue.Ended {
		return
	}
	if before == queue.Taking {
		p.sight.record(p.wait.Ticket, &p.wait.Snapshot, handover.Tickets(ticketsAhead(p.wait.Ticket, r.Record)))
	}
	p.cfg.Log.Ticket(p.wait.Ticket)
}

// decided notes a decision of the machine.
func (p *player) decided(d *queue.Decision) {
	s, before := &p.wait.Snapshot, p.sight.status.Serving
	ahead := handover.Ahead{Rows: d.Ahead, Waiters: d.Waiters}
	p.sight.record(p.wait.Ticket, s, ahead)
	if !p.turn.waits {
		return // not in the queue yet
	}
	if p.turn.local != nil {
		p.turn.local.Judge(before, s.Record.Holders, p.sight.rings(before))
	}
	p.sight.status.Blocked = d.Blocked
	p.sight.pace.Decided(*d)
	if p.turn.place != nil {
		p.turn.local.Saw(s, ahead)
		p.turn.place.below(p.wait.Ticket.Compare(s.Record.Floor()) <= 0)
	}
}

// rest waits until it is time to act again: to look, or to guess if no waiter can be ahead and the turn has ended, or
// should have.
func (p *player) rest(ctx context.Context) (queue.Event, error) {
	p.sight.report()
	p.sight.foresee()
	d, slots := p.sight.delay(ctx, p.turn.slot)
	woken, slot, passed := p.turn.local.Rest(ctx, d, slots)
	p.sight.foresee() // the row was put meanwhile, perhaps
	p.turn.slot = p.turn.slot || slot
	if e, err := p.ended(ctx, passed); e != nil || err != nil {
		return e, err
	}
	return p.rested(woken), nil
}

// ended returns the event with which a rest has ended, or why no further one is possible. An event comes first: a release may
// have passed the lock as ctx ended.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (p *player) ended(ctx context.Context, passed queue.Event) (queue.Event, error) {
	p.series.Reset() // the retry timeout is for failures, not for waiting
	if passed != nil {
		return passed, nil
	}
	return nil, cmp.Or(p.turn.failed(), ctx.Err())
}

// rested returns what a rest has come to.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (p *player) rested(woken bool) queue.Event {
	return queue.Rested{Guess: p.cfg.Wanted == nil && p.wait.Next() && !p.sight.expected() && (woken || p.sight.mayHaveEnded())}
}

// offer returns the entry by which a release of this client passes the lock to the waiter, which rests.
func (p *player) offer() (entry queue.Entry, ok bool) {
	if !p.wait.MayOffer() {
		return entry, false
	}
	return p.wait.Passing(clock{p}), true
}
