package serving

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
)

// Resume puts the entry into the place of the holder old, for a process that goes
// on with a lock of one that has ended: it holds with the same ticket and in the
// same mode, and whoever knows the old id alone can neither renew the lease nor
// pass the fence any more:
//
//	SET holders.#id = {ticket: t, …}, evicted = {id: old, …} REMOVE holders.#old
//	if holders.#old has the ticket, and made, as it was read
//
// The mark says to the old holder that the lock was taken away from it.
// Of a holder that is alone it asks as well that no later ticket was granted and
// that it has not been downgraded: the caller would take itself to be alone.
//
// On success it returns the record. Refused, ErrRefused and the record: the
// caller's own id in it means that an earlier answer was lost. One request; the
// SDK client's own retries are off, as for Claim. Calling again is safe; after any
// other error the entry may be in the record or may get there late.
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
