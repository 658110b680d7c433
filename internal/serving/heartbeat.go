package serving

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// held returns the condition that the holder id still holds the lock with ticket t.
// It asks for the ticket because a TAKE that arrives again after the release puts its
// id back with a later one.
func (n names) held(id string, t ticket.Number) expression.ConditionBuilder {
	return n.heldAs(id, number(t), number(t.Previous()))
}

func (n names) heldAs(id string, t, before expression.ValueBuilder) expression.ConditionBuilder {
	latest := n.latest(t).Or(n.isShared()).Or(n.permits.AttributeExists())
	return n.isHolder(id).And(latest).And(n.servedAs(id, t, before))
}

// latest returns the condition that no ticket after t was granted.
func (n names) latest(t expression.ValueBuilder) expression.ConditionBuilder {
	return n.granted.LessThanEqual(t)
}

// served returns the condition that the entry was granted with ticket t. An entry without
// a ticket has the one after servingAfter.
func (n names) served(id string, t ticket.Number) expression.ConditionBuilder {
	return n.servedAs(id, number(t), number(t.Previous()))
}

func (n names) servedAs(id string, t, before expression.ValueBuilder) expression.ConditionBuilder {
	own := n.field(id, table.AttrTicket)
	return own.Equal(t).Or(own.AttributeNotExists().And(n.servingAfter.Equal(before)))
}

// Renewal is what a holder's heartbeat writes. Times are on DynamoDB's clock, and
// zero if it is not known.
type Renewal struct {
	Until time.Time     // new end of the lease
	Since time.Time     // time of the grant, if the entry does not contain it yet
	TTL   time.Duration // new length of the lease; zero: it stays
}

// ErrOutrun reports that the holder is in the record, and that a later renewal of
// its own was applied first. It is not a loss.
var ErrOutrun = errors.New("a later heartbeat was applied first")

// Heartbeat renews the lease of a holder that still holds the lock:
//
//	SET holders.#id.beat = holders.#id.beat + 1, holders.#id.until = :until
//	if … AND (attribute_not_exists(holders.#id.until) OR holders.#id.until <= :until)
//
// The last condition refuses a late heartbeat. It would set until back, and let
// other clients evict a holder that relies on a later one. So until must never
// decrease from call to call (lease.Renewals). ErrRefused is a loss.
func Heartbeat(ctx context.Context, q table.Queue, id string, t ticket.Number, r Renewal) (Record, error) {
	shape := heartbeatShape{q.Attr(""), !r.Until.IsZero(), !r.Since.IsZero(), r.TTL > 0}
	slots := table.Slots{Name: id, Values: []types.AttributeValue{
		t.Attribute(), t.Previous().Attribute(), table.Int(r.Until.UnixMilli()), table.Int(r.Since.UnixMilli()),
		table.Int(r.TTL.Milliseconds()),
	}}
	rec, err := send(ctx, q, q.Record().Fill(shape, slots))
	if errors.Is(err, ErrRefused) {
		if h, held := rec.Held(id, t); held && h.Unreadable() {
			return rec, h.Problem // it may be the reason
		} else if held {
			return rec, ErrOutrun
		}
	}
	return rec, err
}

// heartbeatShape is the shape of Heartbeat. Its slots are the holder's id, its ticket, the number before it, and what the
// Renewal has.
type heartbeatShape struct {
	prefix            string
	until, since, ttl bool
}

// Build implements table.Shape.
func (h heartbeatShape) Build(slots table.Slots) expression.Builder {
	n, id := named(h.prefix), slots.Name
	beat, until, since := n.field(id, table.AttrBeat), n.field(id, table.AttrUntil), n.field(id, table.AttrSince)
	update, condition := expression.Set(beat, beat.Plus(integer(1))), n.heldAs(id, slots.Value(0), slots.Value(1))
	if h.until {
		update = update.Set(until, slots.Value(2))
		condition = condition.And(until.AttributeNotExists().Or(until.LessThanEqual(slots.Value(2))))
	}
	if h.since {
		update = update.Set(since, since.IfNotExists(slots.Value(3)))
	}
	if h.ttl {
		update = update.Set(n.field(id, table.AttrTTL), slots.Value(4))
	}
	return built(update, condition)
}

// change writes to the entry of a holder if it still holds the lock and the condition is
// true. It succeeds if the holder is done already. ErrRefused is a loss.
func change(ctx context.Context, q table.Queue, id string, t ticket.Number,
	update expression.UpdateBuilder, condition expression.ConditionBuilder, done func(Holder) bool) (Record, error) {
	rec, err := write(ctx, q, update, namesOf(q).held(id, t).And(condition))
	if h, held := rec.Held(id, t); errors.Is(err, ErrRefused) && held && done(h) {
		return rec, nil
	}
	return rec, err
}

// Confirm makes the grant of a fail-closed holder endless. Its entry has a short lease
// until then. EVICT asks for the beat too, so one of the two is applied first and refuses
// the other, whatever clocks say. The ticket refuses a late confirmation of an orphaned
// entry. since is the time of the grant on DynamoDB's clock, or zero. ErrRefused: the
// grant never comes back, and a confirmation under way is refused too.
func Confirm(ctx context.Context, q table.Queue, id string, t ticket.Number, since time.Time) (Record, error) {
	n := namesOf(q)
	beat, attrSince := n.field(id, table.AttrBeat), n.field(id, table.AttrSince)
	update := expression.Set(beat, integer(1)).Remove(n.field(id, table.AttrUntil)).Remove(n.field(id, table.AttrTTL))
	if !since.IsZero() {
		update = update.Set(attrSince, attrSince.IfNotExists(integer(since.UnixMilli())))
	}
	return change(ctx, q, id, t, update, beat.Equal(integer(0)), func(h Holder) bool { return h.Lease.Endless() })
}

// Downgrade lets an exclusive holder share its lock from now on, with no holder in
// between. next is the number of its next fenced transaction (NextCall), which a late
// Downgrade does not follow: others would join before it is visible. ErrRefused is a loss.
func Downgrade(ctx context.Context, q table.Queue, id string, t ticket.Number, next int64) (Record, error) {
	n := namesOf(q)
	_, unmade := n.number(id, next)
	update := expression.Set(n.holdMode, text(ModeShared)).Set(n.field(id, table.AttrMode), text(ModeShared))
	return change(ctx, q, id, t, update, n.alone().And(unmade), func(h Holder) bool { return h.Shared })
}

// SetData replaces the data of a holder. Empty data is removed. call numbers the calls of
// one holder, from 1. A call that arrives after a later one would restore older data: it is
// refused by the table, and succeeds. ErrRefused is a loss.
func SetData(ctx context.Context, q table.Queue, id string, t ticket.Number, call int64, data []byte) (Record, error) {
	n, nth := namesOf(q), integer(call)
	attrData, set := n.field(id, table.AttrData), n.field(id, table.AttrDataSet)
	update := expression.Set(set, nth)
	if len(data) > 0 {
		update = update.Set(attrData, expression.Value(&types.AttributeValueMemberB{Value: data}))
	} else {
		update = update.Remove(attrData)
	}
	return change(ctx, q, id, t, update, set.AttributeNotExists().Or(set.LessThanEqual(nth)),
		func(h Holder) bool { return h.DataSet > call })
}
