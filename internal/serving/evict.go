package serving

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

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
