package serving

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
)

// MaxSeen is the largest number of holders of one Seen, for the limits of MaxEvicted.
const MaxSeen = 10

// Seen writes when holders without an end were seen, all or none:
//
//	SET holders.#id.seen = :at, holders.#id.seenBeat = :beat
//	if holders.#id.beat = :beat AND attribute_not_exists(holders.#id.until)
//	AND (attribute_not_exists(holders.#id.seenBeat) OR holders.#id.seenBeat < :beat) AND …
//
// Other clients then end their leases by the clock, as long as they have that beat and no
// until. A second observation of the same beat is refused: it would move the end. The
// ticket refuses the entry of a TAKE that was repeated, which has the beat of the first.
func Seen(ctx context.Context, q table.Queue, at time.Time, holders ...Holder) (Record, error) {
	n := namesOf(q)
	var update expression.UpdateBuilder
	var condition expression.ConditionBuilder
	for i, h := range holders {
		seen, seenBeat, was := n.field(h.ID, table.AttrSeen), n.field(h.ID, table.AttrSeenBeat), integer(h.Lease.Beat)
		update = update.Set(seen, integer(at.UnixMilli())).Set(seenBeat, was)
		same := n.field(h.ID, table.AttrBeat).Equal(was).And(n.served(h.ID, h.Ticket))
		fresh := n.field(h.ID, table.AttrUntil).AttributeNotExists().And(seenBeat.AttributeNotExists().Or(seenBeat.LessThan(was)))
		if i == 0 {
			condition = same.And(fresh)
		} else {
			condition = condition.And(same, fresh)
		}
	}
	return write(ctx, q, update, condition, table.Once())
}
