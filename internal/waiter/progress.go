package waiter

import (
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Status is what a waiter last saw of its queue, by a look of its own or of another waiter of its client.
type Status struct {
	Ticket  ticket.Number // zero: none was taken
	Ahead   int           // waiters ahead, see localqueue.Waiter.Ahead
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

// progress is what a waiter has seen of its queue and reported.
type progress struct {
	status   Status
	pace     waitpolicy.Pace
	gaps     bool           // a wider counter issues the tickets
	seen     queue.Record   // that status shows
	report   func(Progress) // nil: nothing is reported
	reported reported       // last
}

// reported is the part of a report that must differ from the last one.
type reported struct {
	ticket         ticket.Number
	ahead, tickets int
	serving        string
	data           int64
}

// record keeps what was seen with ticket t, for errors and the schedule.
func (p *progress) record(t ticket.Number, snapshot queue.Snapshot, ahead int) {
	p.status = Status{Ticket: t, Ahead: ahead, Serving: snapshot.Record.Holders, SeenAt: snapshot.ReadAt}
	p.seen = snapshot.Record
	p.pace.Saw(snapshot, ahead)
}

// update adds what the other waiters of this client have seen.
func (p *progress) update(local *localqueue.Waiter) {
	p.status.Ahead = local.Ahead()
	if rec, at := local.LastSeen(); rec.Follows(p.seen) {
		p.status.Serving, p.status.SeenAt, p.seen = rec.Holders, at, rec
	}
}

// send reports the progress if it differs from the last report.
func (p *progress) send(t ticket.Number, rec queue.Record, wait waitpolicy.Estimate) {
	tickets := ticketsAhead(t, rec)
	if p.gaps { // the tickets between are mostly of other queues
		tickets = p.status.Ahead
	}
	now := reported{ticket: t, ahead: p.status.Ahead, tickets: tickets}
	if len(p.status.Serving) > 0 {
		now.serving, now.data = p.status.Serving[0].ID, p.status.Serving[0].DataSet
	}
	if now != p.reported {
		p.reported = now
		p.report(Progress{Status: p.status, Tickets: tickets, Wait: wait})
	}
}

// ticketsAhead returns how many tickets are between the floor and t.
func ticketsAhead(t ticket.Number, rec queue.Record) int {
	return max(0, int(min(t.After(rec.Floor()), 1<<30))-1)
}
