package serving

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
)

// MaxEvicted is how many holders one Evict may name: with its names, paths and
// values the request stays well below DynamoDB's limits of 4 KB for an
// expression and 300 operators.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const MaxEvicted = 40

// Evict removes holders whose lease has ended, each only if its beat is still
// the one that was judged:
//
//	REMOVE holders.#h SET evicted = {id, ticket, made, at}
//	if holders.#h.beat = :beat AND holders.#h has the ticket, and made, as it was read
//
// The mark is that of the last of them, who reads
// there which of its fenced transactions was made. All or none are removed. On
// success it returns the record; ErrRefused and the record if one of them has
// moved: judge again. One request. Calling again is safe.
func Evict(ctx context.Context, q table.Queue, holders ...Holder) (Record, error) {
	n := namesOf(q)
	var update expression.UpdateBuilder
	var condition expression.ConditionBuilder
	for i, h := range holders {
		update = update.Remove(n.entry(h.ID))
		same := n.field(h.ID, table.AttrBeat).Equal(expression.Value(table.Int(h.Lease.Beat))).And(n.asRead(h))
		if i == 0 {
			condition = same
		} else {
			condition = condition.And(same)
		}
	}
	return write(ctx, q, n.evict(q, update, holders[len(holders)-1]), condition)
}
