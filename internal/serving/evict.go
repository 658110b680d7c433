package serving

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
)

// MaxEvicted is the largest number of holders of one Evict. The request then stays
// below DynamoDB's limits of 4 KB for an expression and 300 operators.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const MaxEvicted = 40

// Evict removes holders whose leases have ended, all or none, each only if its beat is
// still the one that was judged:
//
//	REMOVE holders.#h SET evicted = {id, ticket, made, at}
//	if holders.#h.beat = :beat
//
// The mark names the last of them. The condition asks for its ticket and its last
// fenced transaction as they were read. If it is refused, one of them has changed:
// judge again.
func Evict(ctx context.Context, q table.Queue, holders ...Holder) (Record, error) {
	n, marked := namesOf(q), holders[len(holders)-1]
	var update expression.UpdateBuilder
	condition := n.asRead(marked)
	for _, h := range holders {
		update = update.Remove(n.entry(h.ID))
		condition = n.field(h.ID, table.AttrBeat).Equal(expression.Value(table.Int(h.Lease.Beat))).And(condition)
	}
	return write(ctx, q, n.evict(q, update, marked), condition)
}

// EvictFailClosed removes a fail-closed holder without a lease on behalf of an operator:
//
//	REMOVE holders.#id SET evicted = {id, ticket, made, at}
//	if holders.#id.failClosed = true AND attribute_not_exists(holders.#id.ttl)
//	   AND holders.#id has the ticket, and made, as it was read
//
// ErrRefused: the holder is not there, has a lease, or has made a fenced transaction
// since it was read.
func EvictFailClosed(ctx context.Context, q table.Queue, h Holder) (Record, error) {
	n := namesOf(q)
	return write(ctx, q, n.evict(q, expression.Remove(n.entry(h.ID)), h),
		n.field(h.ID, table.AttrFailClosed).Equal(expression.Value(&types.AttributeValueMemberBOOL{Value: true})).
			And(n.field(h.ID, table.AttrTTL).AttributeNotExists()).
			And(n.asRead(h)))
}
