package serving

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
)

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
