package serving

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
)

// MaxEvicted is the largest number of holders of one Evict. The request then stays
// below DynamoDB's limits of 4 KB for an expression and 300 operators.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const MaxEvicted = 40

// Evict removes holders whose leases have ended, all or none, each only if its beat is
// still the one that was judged. The mark names the last of them. The condition asks for
// its ticket and its last fenced transaction as they were read. If it is refused, one of
// them has changed: judge again.
func Evict(ctx context.Context, q table.Queue, holders ...Holder) (Record, error) {
	n, marked := namesOf(q), holders[len(holders)-1]
	var update expression.UpdateBuilder
	condition := n.asRead(marked)
	for _, h := range holders {
		update = update.Remove(n.entry(h.ID))
		condition = n.field(h.ID, table.AttrBeat).Equal(integer(h.Lease.Beat)).And(condition)
	}
	return write(ctx, q, n.evict(q, update, marked), condition)
}

// EvictFailClosed removes a fail-closed holder without a lease on behalf of an operator.
// ErrRefused: the holder is not there, has a lease, or has made a fenced transaction
// since it was read.
func EvictFailClosed(ctx context.Context, q table.Queue, h Holder) (Record, error) {
	n := namesOf(q)
	failClosed := n.field(h.ID, table.AttrFailClosed).Equal(expression.Value(&types.AttributeValueMemberBOOL{Value: true}))
	condition := failClosed.And(n.field(h.ID, table.AttrTTL).AttributeNotExists()).And(n.asRead(h))
	return write(ctx, q, n.evict(q, expression.Remove(n.entry(h.ID)), h), condition)
}

// evict adds the mark of the holder's eviction to an update that removes it. The
// condition of the update must include asRead.
func (n names) evict(q table.Queue, update expression.UpdateBuilder, h Holder) expression.UpdateBuilder {
	mark := Evicted{ID: h.ID, Ticket: h.Ticket, Made: h.Made}
	if _, latest, known := q.Clock().At(time.Now()); known {
		mark.At = latest // no transaction of the holder began later
	}
	return update.Set(n.evicted, expression.Value(mark.attribute()))
}

// asRead returns the condition that the entry has the ticket that was read, and that
// the holder has made no fenced transaction since.
func (n names) asRead(h Holder) expression.ConditionBuilder {
	own, made := n.field(h.ID, table.AttrTicket), n.field(h.ID, table.AttrMade)
	condition := own.AttributeNotExists().And(n.servingAfter.Equal(number(h.Ticket.Previous())))
	if h.claimed {
		condition = own.Equal(number(h.Ticket))
	}
	if h.Made == 0 && !h.numbered {
		return condition.And(made.AttributeNotExists())
	}
	return condition.And(made.Equal(integer(h.Made)))
}

// Remove removes ids, at most MaxEvicted, from the record. A waiter that leaves does
// so for ids whose TAKE, seed or CLAIM had an unknown outcome, and a holder after a
// loss. Returns ErrRefused if none of the ids is there.
func Remove(ctx context.Context, q table.Queue, ids ...string) (Record, error) {
	n := namesOf(q)
	update, condition := expression.Remove(n.entry(ids[0])), n.isHolder(ids[0])
	for _, id := range ids[1:] {
		update, condition = update.Remove(n.entry(id)), condition.Or(n.isHolder(id))
	}
	return write(ctx, q, update, condition)
}
