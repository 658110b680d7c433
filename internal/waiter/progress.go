package waiter

import (
	"time"

	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/ticket"
)

// Progress is where a waiter stands, and what it may expect.
type Progress struct {
	Standing
	Tickets int           // issued before the waiter's own, and above the floor
	Wait    time.Duration // estimated; zero if nothing is known
}

// told is what the waiter has told last, as far as it is compared.
type told struct {
	ticket         ticket.Number
	ahead, tickets int
	serving        string
	data           int64
}

// tell tells of the record that was seen last, if that has changed something.
// It is called only where the waiter goes on to wait: one whose turn it is has
// something better to do.
func (t *turn) tell(rec serving.Record) {
	if t.Progress == nil || t.place == nil {
		return
	}
	t.recount()
	p := Progress{
		Standing: t.standing,
		Tickets:  ticketsAhead(t.ticket, rec),
		Wait:     t.pace.estimate(t.Waiter, rec, time.Now()),
	}
	if t.Counter != nil {
		p.Tickets = p.Ahead // most of the numbers between are of other queues
	}
	now := told{ticket: t.ticket, ahead: p.Ahead, tickets: p.Tickets}
	if len(p.Serving) > 0 {
		now.serving, now.data = p.Serving[0].ID, p.Serving[0].DataSet
	}
	if now == t.told {
		return
	}
	t.told = now
	t.Progress(p)
}

// recount brings the standing up to date with what the line of this process knows.
func (t *turn) recount() {
	t.standing.Ahead = t.spot.Ahead()
	if holders, at := t.spot.Seen(); t.standing.SeenAt.Before(at) {
		t.standing.Serving, t.standing.SeenAt = holders, at
	}
}

// ticketsAhead is how many tickets between the floor and t can still be served.
func ticketsAhead(t ticket.Number, rec serving.Record) int {
	return max(0, int(min(t.After(rec.Floor()), 1<<30))-1)
}
