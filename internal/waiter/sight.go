package waiter

import (
	"context"
	"slices"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/random"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// mayHaveEnded reports whether the turn in the way may have ended unseen, for all that is known of turns.
func (s *sight) mayHaveEnded() bool {
	return !s.heldByOwn() && s.pace.MayHaveEnded(s.wait.Snapshot.Record, time.Now())
}

// mean returns the mean of recent turns.
func (s *sight) mean() time.Duration { return s.wait.Snapshot.Record.HoldTime.Mean }

// delay returns how long to sleep before the next look. With slots, a slot ends the sleep.
func (s *sight) delay(ctx context.Context, slot bool) (d time.Duration, slots chan<- struct{}) {
	p, schedule, draw := &s.pace, s.cfg.Schedule, func() float64 { return random.Float64(ctx) }
	v := s.view()
	if s.turn.local != nil {
		v.Rung = s.turn.local.Rung(s.rings(v.Record.Holders) || s.turn.foreseen && !s.wait.Next())
	}
	d = p.Delay(schedule, v, draw)
	if slot || s.cfg.Several.Slots == nil {
		return d, nil
	}
	return p.Lazily(schedule, d, draw), s.cfg.Several.Slots
}

// view returns what the waiter knows for its pace.
func (s *sight) view() waitpolicy.View {
	now, clock := time.Now(), s.cfg.Queue.Clock()
	earliest, _, _ := clock.At(now)
	return waitpolicy.View{
		Record: s.wait.Snapshot.Record, Permits: s.wait.Config.Mode.Permits, Ahead: s.status.Rows, Own: s.turn.local != nil && s.heldByOwn(),
		Now: now, Earliest: earliest, Middle: clock.Middle(now),
	}
}

// heldByOwn reports whether this client holds the lock, and the waiter is next.
func (s *sight) heldByOwn() bool {
	holders := s.wait.Snapshot.Record.Holders
	return s.wait.Next() && len(holders) == 1 && s.turn.local.Own(holders[0].ID)
}

// expected reports whether the present holder has probably read the waiter's row, and will name it. A CLAIM would be refused.
func (s *sight) expected() bool {
	rec := &s.wait.Snapshot.Record
	age := s.lasted() - s.turn.readAfter
	return s.turn.foreseen && s.wait.Next() && len(rec.Holders) == 1 && age >= 0 && age <= waitpolicy.NamedWithin
}

// lasted returns for how long the present turn has probably lasted.
func (s *sight) lasted() time.Duration {
	now := time.Now()
	return s.pace.Lasted(s.wait.Snapshot.Record, s.cfg.Queue.Clock().Middle(now), now)
}

// foresee notes if the holder of the ticket before, which has waited, has read the row during its turn, or will. One that was
// granted an idle lock reads no row.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (s *sight) foresee() {
	rec := &s.wait.Snapshot.Record
	if s.turn.foreseen || s.turn.local == nil || !before(s.wait.Ticket, rec.Holders) || rec.Holders[0].Ticket == rec.FirstServed() {
		return
	}
	lasted, put := s.lasted(), s.turn.local.Put()
	if after, ok := s.readsNext(s.rung); ok && lasted > 0 && !put.IsZero() && lasted-time.Since(put) <= after {
		s.turn.foreseen, s.turn.readAfter = true, after
	}
}

// readsNext returns after which time of the present turn its holder reads the next row; false: it does not.
func (s *sight) readsNext(bells bool) (after time.Duration, ok bool) {
	return s.pace.ReadsNext(s.mean(), bells)
}

// rings reports whether the holder of the ticket before is there, and has probably read the waiter's row, so that it rings its bell.
func (s *sight) rings(holders []queue.Holder) bool {
	return s.turn.foreseen && before(s.wait.Ticket, holders)
}

// before reports whether the lock has one holder, with the ticket before t.
func before(t ticket.Number, holders []queue.Holder) bool {
	return len(holders) == 1 && holders[0].Ticket == t.Previous()
}

// report reports the progress of a waiter that continues to wait.
//
//go:noinline // what it needs of the stack, a resting waiter does not occupy
func (s *sight) report() {
	rec := s.wait.Snapshot.Record
	if s.turn.local == nil {
		return
	}
	s.update()
	s.noteOwn()
	if s.cfg.Progress != nil {
		s.send(s.wait.Ticket, rec, s.estimate())
	}
}

// noteOwn logs once that the waiter's own client has the lock: the caller may be waiting for itself.
func (s *sight) noteOwn() {
	holders := s.status.Serving
	i := slices.IndexFunc(holders, func(h queue.Holder) bool { return s.turn.local.Own(h.ID) })
	switch {
	case s.own.logged:
	case i < 0:
		s.own.id = ""
	case s.own.id != holders[i].ID:
		s.own.id, s.own.since = holders[i].ID, time.Now()
	case time.Since(s.own.since) >= ownLimit:
		s.own.logged = true
		s.cfg.Log.Info("queuelock: waits for a lock that this client itself holds: locks are not reentrant",
			"queue", s.cfg.Queue.String(), "ticket", s.wait.Ticket, "own", holders[i].Ticket)
	}
}

// estimate returns how long the turns before the waiter's own are likely to take, from what it has seen.
func (s *sight) estimate() waitpolicy.Estimate {
	if s.wait.Snapshot.ReadAt.IsZero() {
		return waitpolicy.Estimate{}
	}
	return s.pace.Estimate(s.view())
}

// ownLimit is how long a holder of the waiter's own client may be in the way before that is logged.
const ownLimit = 10 * time.Second

// ownHolder is a holder of the waiter's own client.
type ownHolder struct {
	id     string
	since  time.Time // when it was first seen
	logged bool      // one was, see noteOwn
}

// Status is what a waiter last saw of its queue, by a look of its own or of another waiter of its client.
type Status struct {
	Ticket  ticket.Number // zero: none was taken
	Ahead   int           // waiters ahead, see handover.Waiter.Ahead
	Rows    int           // that these have
	Serving []queue.Holder
	SeenAt  time.Time           // on the local clock
	Looked  bool                // else Ahead is a difference of tickets, some of which were left without a row
	Kept    bool                // this client itself holds the lock, for a block of the waiter, and renews the lease
	Blocked error               // problem of a row ahead or a holder that cannot be read
	Failure error               // of the last request, CLEAN UP included, if the table did not answer
	Wait    waitpolicy.Estimate // when Status was called
}

// Served returns the first holder, or nil, with its age and its remaining time as they are now.
func (s Status) Served(q table.Queue, observer *heartbeat.Observer) *queue.Holder {
	if len(s.Serving) == 0 {
		return nil
	}
	now := time.Now()
	holder := observer.Holder(q.Items, s.Serving[0], s.SeenAt, q.Clock().Middle(now))
	switch {
	case s.Kept:
		holder.Remaining = holder.TTL
	case !holder.Endless():
		holder.Remaining -= now.Sub(s.SeenAt)
	}
	return &holder
}

// Progress is a waiter's place in its queue and the estimated wait.
type Progress struct {
	Status  Status
	Tickets int // between the floor and the waiter's own
	Wait    waitpolicy.Estimate
}

// sight is what a waiter has seen of its queue, what it reports of that, and when it acts next. It sends nothing, and steps no
// machine.
type sight struct {
	cfg  *Config
	wait *queue.Wait // is read only
	rung bool        // the waiter has a bell

	status   Status
	pace     waitpolicy.Pace
	seen     queue.Record // that status shows
	reported reported     // last
	own      ownHolder    // of the last look
	turn     sightOfTurn
}

// sightOfTurn is what was seen in the wait of one ticket.
type sightOfTurn struct {
	local    *handover.Waiter // nil with NoWait, and before the row is put
	byName   bool             // a release may grant the lock by the row
	looked   bool             // there was one
	foreseen bool             // the holder of the ticket before has probably read the row, or will
	// readAfter is after which time of its turn. Zero: before it began, as a look has shown the row then.
	readAfter time.Duration
	next      handover.Row // with the ticket after
}

// reported is the part of a report that must differ from the last one.
type reported struct {
	ticket         ticket.Number
	ahead, tickets int
	serving        string
	data           int64
}

// record keeps what was seen with ticket t, for errors and the schedule.
//
//go:noinline // its copy of the snapshot is not on the stack while the line sees it
func (s *sight) record(t ticket.Number, snapshot *queue.Snapshot, ahead handover.Ahead) {
	s.status = Status{Ticket: t, Ahead: ahead.Waiters, Rows: ahead.Rows, Serving: snapshot.Record.Holders, SeenAt: snapshot.ReadAt, Looked: s.turn.looked}
	s.seen = snapshot.Record
	s.pace.Saw(*snapshot, ahead.Rows)
}

// update adds what the other waiters of this client have seen.
func (s *sight) update() {
	local := s.turn.local
	ahead := local.Ahead()
	s.status.Ahead, s.status.Rows = ahead.Waiters, ahead.Rows
	rec, at := local.LastSeen()
	s.status.Looked = s.status.Looked || !at.IsZero()
	if rec.Follows(s.seen) {
		s.status.Serving, s.status.SeenAt, s.seen = rec.Holders, at, rec
	}
}

// send reports the progress if it differs from the last report.
func (s *sight) send(t ticket.Number, rec queue.Record, wait waitpolicy.Estimate) {
	tickets := ticketsAhead(t, rec)
	if s.cfg.Counter != nil { // the tickets between are mostly of other queues
		tickets = s.status.Ahead
	}
	now := reported{ticket: t, ahead: s.status.Ahead, tickets: tickets}
	if len(s.status.Serving) > 0 {
		now.serving, now.data = s.status.Serving[0].ID, s.status.Serving[0].DataSet
	}
	if now != s.reported {
		s.reported = now
		s.cfg.Progress(Progress{Status: s.status, Tickets: tickets, Wait: wait})
	}
}

// ticketsAhead returns how many tickets are between the floor and t.
func ticketsAhead(t ticket.Number, rec queue.Record) int {
	return max(0, int(min(t.After(rec.Reach()), 1<<30))-1)
}
