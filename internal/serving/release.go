package serving

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
	// Bounded asks that the set has fewer than MaxUnsettled times, or is Crowd, which Unsettled then replaces: see Add.
	Bounded bool
	Crowd   []time.Time
	Settled []time.Time
	// Unmade asks that the holder's fenced transaction of this number, and later ones,
	// were not made. A copy of a refused one may arrive late, and must not commit unnoticed
	// while the lock is released. Zero: there is none.
	Unmade int64
	Next   Next // for FormPass
}

// MaxUnsettled is the number of times from which on a release replaces them by one.
const MaxUnsettled = 10

// Add makes the release add a time to those that the record had when it was read. If they are many, it replaces them by
// one that is later than all. That must be a new one: a holder removes a time that was there before its turn, and must
// not remove this transaction's.
func (e *Ending) Add(at time.Time, read []time.Time) {
	e.Unsettled, e.Crowd = at, nil
	if len(read) < MaxUnsettled || !e.Bounded || e.Replaces {
		return
	}
	e.Crowd = read
	if last := slices.MaxFunc(read, time.Time.Compare); !at.After(last) {
		e.Unsettled = last.Add(time.Millisecond)
	}
}

// unsettle adds the times to a release, and their condition.
func (n names) unsettle(u expression.UpdateBuilder, c expression.ConditionBuilder, e Ending) (
	expression.UpdateBuilder, expression.ConditionBuilder) {
	added := expression.Value(table.Times(e.Unsettled))
	switch {
	case e.Unsettled.IsZero() && len(e.Settled) > 0:
		return u.Delete(n.unsettled, expression.Value(table.Times(e.Settled...))), c
	case e.Unsettled.IsZero():
		return u, c
	case e.Replaces:
		return u.Set(n.unsettled, added), c
	case len(e.Crowd) > 0:
		return u.Set(n.unsettled, added), c.And(n.unsettled.Equal(expression.Value(table.Times(e.Crowd...))))
	case e.Bounded:
		few := n.unsettled.AttributeNotExists().Or(n.unsettled.Size().LessThan(integer(MaxUnsettled)))
		return u.Add(n.unsettled, added), c.And(few)
	}
	return u.Add(n.unsettled, added), c
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
	// a waiter of the same client, or for one that it names by its row. Only an exclusive
	// holder may pass the lock, to the ticket after its own, because no other waiter can be
	// between the two.
	FormPass
)

// releaseShape is the shape of what each release does. Its slots are the holder's id, its ticket, the number before it,
// the mark, the turn, and the time to forget the record.
type releaseShape struct {
	prefix, expires string // expires is empty if that time is not written
	fast, turn      bool
}

// Build implements table.Shape.
func (r releaseShape) Build(slots table.Slots) expression.Builder { return built(r.parts(slots)) }

func (r releaseShape) parts(slots table.Slots) (expression.UpdateBuilder, expression.ConditionBuilder) {
	n, id, t := named(r.prefix), slots.Name, slots.Value(0)
	update, condition := expression.Remove(n.entry(id)), n.isHolder(id)
	if r.fast {
		update, condition = n.reset(r.expires, slots.Value(4)), condition.And(n.alone()).And(n.noneOutstanding(t))
	}
	update = update.Set(n.released, slots.Value(2))
	if r.turn {
		update = update.Set(n.turn, slots.Value(3))
	}
	return update, condition.And(n.servedAs(id, t, slots.Value(1)))
}

// expressions returns those of a release in that form.
func (f Form) expressions(q table.Queue, e Ending) table.Expressions {
	expires, at := forgetting(q)
	mark := Released{ID: e.ID, Ticket: e.Ticket, Call: e.Call}
	shape := releaseShape{q.Attr(""), expires, f == FormFast, q.Home == nil}
	slots := table.Slots{Name: e.ID, Values: []types.AttributeValue{
		e.Ticket.Attribute(), e.Ticket.Previous().Attribute(), mark.attribute(), e.Turn.attribute(), at,
	}}
	if f != FormPass && e.Unsettled.IsZero() && len(e.Settled) == 0 && e.Unmade == 0 {
		return q.Record().Fill(shape, slots)
	}
	n := namesOf(q)
	update, condition := shape.parts(slots)
	if f == FormPass {
		update, condition = n.claim(update, condition.And(n.alone()), e.Next.Entry.Mode, e.Next.Entry.claimSlots(e.Next.Ticket))
	}
	update, condition = n.unsettle(update, condition, e)
	if e.Unmade > 0 {
		_, unmade := n.number(e.ID, e.Unmade)
		condition = condition.And(unmade)
	}
	return table.Build(built(update, condition))
}

// Release sends RELEASE of the protocol in that form. If it is refused, Record.Outcome
// says what became of the turn. If FormFast is applied, the record is not returned.
func Release(ctx context.Context, q table.Queue, f Form, e Ending, opts ...table.Option) (Record, error) {
	if f != FormFast {
		return send(ctx, q, f.expressions(q, e), opts...)
	}
	err := q.Record().Apply(ctx, q.RecordKey(), f.expressions(q, e), opts...)
	if err == nil {
		return Record{}, nil
	}
	return written(ctx, q, nil, err)
}

// UpdateAndRelease applies a form of RELEASE and the user's own update of the item that
// carries the record in one write, on both conditions. users has an update, and may
// have a condition. If it is refused and the holder is in the record, the form was not possible (Fast)
// or the user's condition was false. At most one of any number of calls is applied.
func UpdateAndRelease(ctx context.Context, q table.Queue, f Form, e Ending,
	users expression.Expression) (Record, error) {
	return send(ctx, q, table.Join(f.expressions(q, e), users), table.Once())
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
	expires, at := forgetting(q)
	return write(ctx, q, n.reset(expires, expression.Value(at)), n.noHolder().And(n.noneOutstanding(number(t))))
}

// Idle reports whether MakeIdle would be applied.
func (r Record) Idle() bool { return r.Resettable(r.FirstServed()) }

// MakeIdle is Reset for a client that was granted nothing, after it has removed holders from the record r. The first
// ticket that was served since holders became present was granted, and a ticket behind it may be outstanding. If the
// record is of a wider scope, the table's TTL must not delete it.
func MakeIdle(ctx context.Context, q table.Queue, r Record) (Record, error) {
	if r.Scope != ticket.ScopeQueue {
		q.Forget = 0
	}
	return Reset(ctx, q, r.FirstServed())
}

// Resettable reports whether Reset would be applied with ticket t.
func (r Record) Resettable(t ticket.Number) bool {
	return r.Present && len(r.Holders) == 0 && r.noneOutstanding(t)
}

// reset makes the record idle. With expires, the table's TTL may delete it from then on: it has no holder and no outstanding ticket, and the next request for a ticket keeps it.
func (n names) reset(expires string, at expression.ValueBuilder) expression.UpdateBuilder {
	u := expression.Set(n.granted, n.ticketNumber).Remove(n.holders).Remove(n.servingAfter).Remove(n.holdMode)
	if expires == "" {
		return u
	}
	return u.Set(expression.NameNoDotSplit(expires), at)
}

// forgetting returns the TTL attribute and when the table's TTL may delete an idle record. It is empty if that must not
// happen, or the time is not known.
func forgetting(q table.Queue) (expires string, at types.AttributeValue) {
	_, latest, known := q.Clock().At(time.Now())
	if !known || q.Forget == 0 {
		return "", nil
	}
	return expiresOf(q), table.Int(latest.Add(q.Forget).Unix() + 1)
}

// keep adds to a request for a ticket that the table's TTL must not delete the record.
func keep(u expression.UpdateBuilder, expires string) expression.UpdateBuilder {
	if expires == "" {
		return u
	}
	return u.Remove(expression.NameNoDotSplit(expires))
}

// expiresOf returns the table's TTL attribute. It is empty for a user's item, which has a TTL of its own.
func expiresOf(q table.Queue) string {
	if q.Home != nil {
		return ""
	}
	return q.Layout().TTL
}

// noneOutstanding returns the condition that no ticket but t, which was granted, is
// outstanding.
func (n names) noneOutstanding(t expression.ValueBuilder) expression.ConditionBuilder {
	return n.ticketNumber.Equal(n.granted).Or(n.ticketNumber.Equal(t))
}

func (r Record) noneOutstanding(t ticket.Number) bool {
	return r.TicketNumber == r.Granted || r.TicketNumber == t
}
