package serving

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Ending describes the release of a lock.
type Ending struct {
	ID     string
	Ticket ticket.Number
	Call   int64 // number of the release call; repeats of one call have the same
	Turn   Turn  // of recent hold times, this one included; not written to a user's item
	// Unsettled is a time to add to Marks.Unsettled. Zero: none; then Settled are removed.
	Unsettled time.Time
	Replaces  bool // no other holder can have added a time: Unsettled is the only one left
	Settled   []time.Time
	// Unmade asks that the holder's fenced transaction of this number, and later ones,
	// were not made. A copy of a refused one may arrive late, and must not commit unnoticed
	// while the lock is released. Zero: there is none.
	Unmade int64
	Next   Next // for FormPass
}

// Next is the waiter that FormPass grants the lock to.
type Next struct {
	Entry  Entry
	Ticket ticket.Number
}

// Form is one of the forms of RELEASE. Each asks that the holder is in the record
// with its ticket, removes it, and leaves a mark (Released). So at most one of any
// number of requests of either form is applied, however late.
type Form int

// The forms.
const (
	// FormFast leaves the record without holders, so that the next TAKE is served at
	// once. It asks that the holder is alone, and that no ticket is outstanding in the
	// table, whatever the holder last saw.
	FormFast Form = iota + 1
	// FormHandOff leaves {}, so that the first waiter may claim.
	FormHandOff
	// FormPass also claims the lock for Ending.Next: RELEASE and CLAIM in one write, for
	// a waiter of the same client. Only an exclusive holder may pass the lock, to the
	// ticket after its own, because no other waiter can be between the two.
	FormPass
)

func (f Form) of(q table.Queue, e Ending) (expression.UpdateBuilder, expression.ConditionBuilder) {
	n := namesOf(q)
	update, condition := expression.Remove(n.entry(e.ID)), n.isHolder(e.ID)
	switch f {
	case FormFast:
		update, condition = n.reset(q), condition.And(n.alone()).And(n.noneOutstanding(e.Ticket))
	case FormPass:
		update, condition = n.claim(update, condition.And(n.alone()), e.Next.Entry, e.Next.Ticket)
	}
	mark := Released{ID: e.ID, Ticket: e.Ticket, Call: e.Call}
	update = update.Set(n.released, expression.Value(mark.attribute()))
	switch {
	case !e.Unsettled.IsZero() && e.Replaces:
		update = update.Set(n.unsettled, expression.Value(table.Times(e.Unsettled)))
	case !e.Unsettled.IsZero():
		update = update.Add(n.unsettled, expression.Value(table.Times(e.Unsettled)))
	case len(e.Settled) > 0:
		update = update.Delete(n.unsettled, expression.Value(table.Times(e.Settled...)))
	}
	if q.Home == nil {
		update = update.Set(n.turn, expression.Value(e.Turn.attribute()))
	}
	condition = condition.And(n.served(e.ID, e.Ticket))
	if e.Unmade > 0 {
		_, unmade := n.number(e.ID, e.Unmade)
		condition = condition.And(unmade)
	}
	return update, condition
}

// Release sends RELEASE of the protocol in that form. If it is refused, Record.Outcome
// says what became of the turn.
func Release(ctx context.Context, q table.Queue, f Form, e Ending, opts ...table.Option) (Record, error) {
	update, condition := f.of(q, e)
	return write(ctx, q, update, condition, opts...)
}

// UpdateAndRelease applies a form of RELEASE and the user's own update of the item that
// carries the record in one write, on both conditions. users has an update, and may
// have a condition. If it is refused and the holder is in the record, the form was not possible (Fast)
// or the user's condition was false. At most one of any number of calls is applied.
func UpdateAndRelease(ctx context.Context, q table.Queue, f Form, e Ending,
	users expression.Expression) (Record, error) {
	update, condition := f.of(q, e)
	own, err := expression.NewBuilder().WithUpdate(update).WithCondition(condition).Build()
	if err != nil {
		return Record{}, err
	}
	w, err := table.Join(own, users)
	if err != nil {
		return Record{}, err
	}
	item, err := q.Record().Write(ctx, q.RecordKey(), w, table.Once())
	return written(ctx, q, item, err)
}

// Fast reports whether the fast form of RELEASE is possible for the holder id with
// ticket t.
func (r Record) Fast(id string, t ticket.Number) bool {
	_, mine := r.Held(id, t)
	return mine && len(r.Holders) == 1 && r.noneOutstanding(t)
}

// Reset makes a queue without holders and outstanding tickets serve the next TAKE
// at once: RESET of the protocol. t must be a ticket that was granted to the caller. With
// another ticket, a live waiter could be overtaken. The request may be late by any time.
func Reset(ctx context.Context, q table.Queue, t ticket.Number) (Record, error) {
	n := namesOf(q)
	return write(ctx, q, n.reset(q), n.noHolder().And(n.noneOutstanding(t)))
}

// Resettable reports whether Reset would be applied with ticket t.
func (r Record) Resettable(t ticket.Number) bool {
	return r.Present && len(r.Holders) == 0 && r.noneOutstanding(t)
}

// reset makes the record idle. Only now may the table's TTL delete it: it has no holder
// and no outstanding ticket, and the next request for a ticket keeps it.
func (n names) reset(q table.Queue) expression.UpdateBuilder {
	u := expression.Set(n.granted, n.ticketNumber).Remove(n.holders).Remove(n.servingAfter).Remove(n.holdMode)
	if _, latest, known := q.Clock().At(time.Now()); known && q.Forget > 0 && q.Home == nil {
		u = u.Set(expires(q), integer(latest.Add(q.Forget).Unix()+1))
	}
	return u
}

// keep adds to a request for a ticket that the table's TTL must not delete the record. A
// user's item has a TTL of its own.
func keep(u expression.UpdateBuilder, q table.Queue) expression.UpdateBuilder {
	if q.Home != nil {
		return u
	}
	return u.Remove(expires(q))
}

func expires(q table.Queue) expression.NameBuilder { return expression.NameNoDotSplit(q.Layout().TTL) }

// noneOutstanding returns the condition that no ticket but t, which was granted, is
// outstanding.
func (n names) noneOutstanding(t ticket.Number) expression.ConditionBuilder {
	return n.ticketNumber.Equal(n.granted).Or(n.ticketNumber.Equal(number(t)))
}

func (r Record) noneOutstanding(t ticket.Number) bool {
	return r.TicketNumber == r.Granted || r.TicketNumber == t
}
