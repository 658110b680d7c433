package serving

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Claim serves ticket t, whose turn the caller believes it is. The grant is this one
// conditional write, never a read:
//
//	SET holders.#id = {ticket: t, …}, granted = t, holdMode = "exclusive"
//	if size(holders) = 0 AND granted < t AND servingAfter < t - 1 AND ticketNumber >= t
//
// A shared or semaphore's claim asks for room in place of the first condition. The last
// one refuses a ticket of an earlier record, which was deleted: granted would be above the
// counter, and no TAKE would be made any more. If it is refused and the caller's own id is
// in the record, an earlier answer was lost. After another error the caller looks for the
// id, or removes it.
func Claim(ctx context.Context, q table.Queue, e Entry, t ticket.Number) (Record, error) {
	return sendGrant(ctx, q, q.Record().Fill(claimShape{q.Attr(""), e.Mode}, e.claimSlots(t)))
}

// claimShape is the shape of Claim.
type claimShape struct {
	prefix string
	mode   Mode
}

// Build implements table.Shape.
func (c claimShape) Build(slots table.Slots) expression.Builder {
	n := named(c.prefix)
	return built(n.claim(expression.UpdateBuilder{}, n.admits(c.mode), c.mode, slots))
}

// claimSlots returns the id, the entry with ticket t, t, and the number before it.
func (e Entry) claimSlots(t ticket.Number) table.Slots {
	return table.Slots{Name: e.ID, Values: []types.AttributeValue{e.claimed(t), t.Attribute(), t.Previous().Attribute()}}
}

// claim adds a CLAIM to an update, and its condition to that of room. The slots are those of Entry.claimSlots.
func (n names) claim(u expression.UpdateBuilder, room expression.ConditionBuilder, m Mode, slots table.Slots) (
	expression.UpdateBuilder, expression.ConditionBuilder) {
	t, before := slots.Value(1), slots.Value(2)
	u = u.Set(n.entry(slots.Name), slots.Value(0)).Set(n.granted, t)
	if m.Permits == 0 {
		u = u.Set(n.holdMode, text(m.String()))
	}
	return u, room.And(n.granted.LessThan(t)).
		And(n.servingAfter.LessThan(before)).
		And(n.ticketNumber.GreaterThanEqual(t))
}

// Resume replaces the holder old by the entry, for a process that continues a lock of
// a process that has ended. Ticket and mode stay. The old id can then neither renew
// the lease nor pass the fence. For an exclusive holder it asks that no later ticket was
// granted, and that the lock was not downgraded. If it is refused and the caller's own id
// is in the record, an earlier answer was lost.
func Resume(ctx context.Context, q table.Queue, old Holder, e Entry) (Record, error) {
	n := namesOf(q)
	update := expression.Set(n.entry(e.ID), expression.Value(e.claimed(old.Ticket))).Remove(n.entry(old.ID))
	condition := n.isHolder(old.ID).And(n.asRead(old))
	if e.Mode == (Mode{}) {
		exclusive := n.holdMode.AttributeNotExists().Or(n.holdMode.Equal(text(ModeExclusive)))
		condition = condition.And(n.latest(number(old.Ticket))).And(exclusive)
	}
	return grant(ctx, q, n.evict(q, update, old), condition)
}
