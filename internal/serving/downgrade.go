package serving

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Downgrade lets an exclusive holder share its lock from now on, with no holder in
// between:
//
//	SET holdMode = "shared", holders.#id.mode = "shared"
//	if the holder holds the lock as HEARTBEAT asks AND size(holders) = 1
//
// It succeeds if an earlier call has done it. ErrRefused is a loss.
func Downgrade(ctx context.Context, q table.Queue, id string, t ticket.Number) (Record, error) {
	n, shared := namesOf(q), expression.Value(table.String(ModeShared))
	rec, err := write(ctx, q,
		expression.Set(n.holdMode, shared).Set(n.field(id, table.AttrMode), shared),
		n.held(id, t).And(n.alone()))
	if errors.Is(err, ErrRefused) {
		if h, held := rec.Held(id, t); held && h.Shared {
			return rec, nil // other holders have joined since
		}
	}
	return rec, err
}
