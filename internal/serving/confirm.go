package serving

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Confirm makes the grant of a fail-closed holder endless. Its entry has a short lease
// until then:
//
//	SET holders.#id.beat = 1 REMOVE holders.#id.until, holders.#id.ttl
//	if the holder holds the lock as HEARTBEAT asks AND holders.#id.beat = 0
//
// EVICT asks for the beat too, so one of the two is applied first and refuses the
// other, whatever clocks say. The ticket refuses a late confirmation of an orphaned
// entry. since is the time of the grant on DynamoDB's clock, or zero.
//
// It succeeds if an earlier call has done it. ErrRefused: the grant is gone and never
// comes back, and a confirmation under way is refused too.
func Confirm(ctx context.Context, q table.Queue, id string, t ticket.Number, since time.Time) (Record, error) {
	n := namesOf(q)
	beat, attrSince := n.field(id, table.AttrBeat), n.field(id, table.AttrSince)
	update := expression.Set(beat, one).Remove(n.field(id, table.AttrUntil)).Remove(n.field(id, table.AttrTTL))
	if !since.IsZero() {
		update = update.Set(attrSince, attrSince.IfNotExists(expression.Value(table.Int(since.UnixMilli()))))
	}
	rec, err := write(ctx, q, update, n.held(id, t).And(beat.Equal(zero)))
	if errors.Is(err, ErrRefused) {
		if h, held := rec.Held(id, t); held && h.Lease.Endless() {
			return rec, nil
		}
	}
	return rec, err
}
