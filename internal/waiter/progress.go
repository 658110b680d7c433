package waiter

import (
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Status is what a waiter last saw of its queue, by a look of its own or of another waiter of its client.
type Status struct {
	Ticket  ticket.Number // zero: none was taken
	Ahead   int           // waiters ahead, see handover.Waiter.Ahead
	Serving []queue.Holder
	SeenAt  time.Time           // on the local clock
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
	if !holder.Endless() {
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
	foreseen bool             // a look has shown the row before the turn of the ticket before began
	next     handover.Row     // with the ticket after
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
func (s *sight) record(t ticket.Number, snapshot *queue.Snapshot, ahead int) {
	s.status = Status{Ticket: t, Ahead: ahead, Serving: snapshot.Record.Holders, SeenAt: snapshot.ReadAt}
	s.seen = snapshot.Record
	s.pace.Saw(*snapshot, ahead)
}

// update adds what the other waiters of this client have seen.
func (s *sight) update() {
	local := s.turn.local
	s.status.Ahead = local.Ahead()
	if rec, at := local.LastSeen(); rec.Follows(s.seen) {
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
	return max(0, int(min(t.After(rec.Floor()), 1<<30))-1)
}
