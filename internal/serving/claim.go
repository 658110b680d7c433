package serving

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Claim serves ticket t, whose turn the caller believes it is. The grant is this one
// conditional write, never a read. It is granted if there is no holder, and neither
// t nor a later ticket was ever granted:
//
//	SET holders.#id = {ticket: t, …}, granted = t, holdMode = "exclusive"
//	if size(holders) = 0 AND granted < t AND servingAfter < t - 1
//
// A shared claim sets holdMode to "shared", and asks for size(holders) = 0 OR
// holdMode = "shared". At a semaphore it asks for size(holders) < permits, and there
// is no holdMode. On a user's item, which may have been deleted and created again, it
// also asks for ticketNumber >= t.
//
// If it is refused and the caller's own id is in the record, an earlier answer was
// lost. After another error the caller looks for the id, or removes it.
func Claim(ctx context.Context, q table.Queue, e Entry, t ticket.Number) (Record, error) {
	n, item := namesOf(q), e.item()
	item[table.AttrTicket] = t.Attribute()
	update := expression.Set(n.entry(e.ID), expression.Value(table.Map(item))).Set(n.granted, number(t))
	if e.Mode.Permits == 0 {
		update = update.Set(n.holdMode, expression.Value(table.String(e.Mode.String())))
	}
	condition := n.admits(e.Mode).
		And(n.granted.LessThan(number(t))).
		And(n.servingAfter.LessThan(number(t.Previous())))
	if q.Home != nil {
		condition = condition.And(n.ticketNumber.GreaterThanEqual(number(t)))
	}
	return grant(ctx, q, update, condition)
}

// Resume replaces the holder old by the entry, for a process that continues a lock of
// a process that has ended. Ticket and mode stay. The old id can then neither renew
// the lease nor pass the fence:
//
//	SET holders.#id = {ticket: t, …}, evicted = {id: old, …} REMOVE holders.#old
//	if holders.#old has the ticket, and made, as it was read
//
// For an exclusive holder it also asks that no later ticket was granted, and that
// the lock was not downgraded. If it is refused and the caller's own id is in the
// record, an earlier answer was lost.
func Resume(ctx context.Context, q table.Queue, old Holder, e Entry) (Record, error) {
	n, item := namesOf(q), e.item()
	item[table.AttrTicket] = old.Ticket.Attribute()
	condition := n.isHolder(old.ID).And(n.asRead(old))
	if e.Mode == (Mode{}) {
		exclusive := n.holdMode.Equal(expression.Value(table.String(ModeExclusive)))
		condition = condition.And(n.latest(old.Ticket)).And(n.holdMode.AttributeNotExists().Or(exclusive))
	}
	return grant(ctx, q,
		n.evict(q, expression.Set(n.entry(e.ID), expression.Value(table.Map(item))).Remove(n.entry(old.ID)), old),
		condition)
}
