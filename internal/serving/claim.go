package serving

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

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
	n := namesOf(q)
	update, condition := n.claim(expression.UpdateBuilder{}, n.admits(e.Mode), e, t)
	return grant(ctx, q, update, condition)
}

// claim adds a CLAIM to an update, and its condition to that of room.
func (n names) claim(u expression.UpdateBuilder, room expression.ConditionBuilder, e Entry, t ticket.Number) (
	expression.UpdateBuilder, expression.ConditionBuilder) {
	u = u.Set(n.entry(e.ID), e.claimed(t)).Set(n.granted, number(t))
	if e.Mode.Permits == 0 {
		u = u.Set(n.holdMode, text(e.Mode.String()))
	}
	return u, room.And(n.granted.LessThan(number(t))).
		And(n.servingAfter.LessThan(number(t.Previous()))).
		And(n.ticketNumber.GreaterThanEqual(number(t)))
}

// Resume replaces the holder old by the entry, for a process that continues a lock of
// a process that has ended. Ticket and mode stay. The old id can then neither renew
// the lease nor pass the fence. For an exclusive holder it asks that no later ticket was
// granted, and that the lock was not downgraded. If it is refused and the caller's own id
// is in the record, an earlier answer was lost.
func Resume(ctx context.Context, q table.Queue, old Holder, e Entry) (Record, error) {
	n := namesOf(q)
	update := expression.Set(n.entry(e.ID), e.claimed(old.Ticket)).Remove(n.entry(old.ID))
	condition := n.isHolder(old.ID).And(n.asRead(old))
	if e.Mode == (Mode{}) {
		exclusive := n.holdMode.AttributeNotExists().Or(n.holdMode.Equal(text(ModeExclusive)))
		condition = condition.And(n.latest(old.Ticket)).And(exclusive)
	}
	return grant(ctx, q, n.evict(q, update, old), condition)
}
