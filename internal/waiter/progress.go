package waiter

import (
	"time"

	"github.com/queuelock/queuelock/internal/localqueue"
	"github.com/queuelock/queuelock/internal/rows"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/ticket"
)

// Status is what a waiter last saw of its queue, by its own look, or by that of
// another waiter of its client.
type Status struct {
	Ticket  ticket.Number // zero: none was taken
	Ahead   int           // waiters ahead, see localqueue.Waiter.Ahead
	Serving []serving.Holder
	SeenAt  time.Time // on the local clock
	Blocked error     // what is wrong with a row ahead, or a holder, that cannot be read
	Failure error     // the last request's error, that of leaving included, if the table did not answer
}

// Progress is where a waiter is in its queue, and what it may expect.
type Progress struct {
	Status  Status
	Tickets int           // issued before the waiter's own, and above the floor
	Wait    time.Duration // estimated; zero if nothing is known
}

// progress is what a waiter has seen of its queue, and what it has reported of that.
type progress struct {
	status   Status
	pace     pace
	wide     bool           // the tickets between are mostly of other queues
	report   func(Progress) // nil: nothing is reported
	reported reported       // last
}

// reported is what is compared of two reports.
type reported struct {
	ticket         ticket.Number
	ahead, tickets int
	serving        string
	data           int64
}

func newProgress(c Config) *progress {
	return &progress{pace: pace{gaps: c.Counter != nil}, wide: c.Counter != nil, report: c.Progress}
}

// record keeps what was seen with ticket t: for the error if the wait is over, and
// for the schedule.
func (p *progress) record(t ticket.Number, snapshot rows.Snapshot, ahead int) {
	p.status = Status{Ticket: t, Ahead: ahead, Serving: snapshot.Record.Holders, SeenAt: snapshot.ReadAt}
	p.pace.see(snapshot, ahead)
}

// update brings the status up to date with what the other waiters of this process
// have seen.
func (p *progress) update(local *localqueue.Waiter) {
	p.status.Ahead = local.Ahead()
	if holders, at := local.LastSeen(); p.status.SeenAt.Before(at) {
		p.status.Serving, p.status.SeenAt = holders, at
	}
}

// send reports the progress, if that differs from the last report.
func (p *progress) send(t ticket.Number, rec serving.Record, wait time.Duration) {
	tickets := ticketsAhead(t, rec)
	if p.wide {
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

// ticketsAhead is how many tickets between the floor and t can still be served.
func ticketsAhead(t ticket.Number, rec serving.Record) int {
	return max(0, int(min(t.After(rec.Floor()), 1<<30))-1)
}
