package serving

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Downgrade lets the holder id, served alone with ticket t, share from now on,
// without anybody in between:
//
//	SET holdMode = "shared", holders.#id.mode = "shared"
//	if the holder holds the lock as HEARTBEAT asks AND size(holders) = 1
//
// On success it returns the record, also if an earlier call had done it.
// ErrRefused and the record: the lock was lost. One request. Calling again is
// safe.
func Downgrade(ctx context.Context, q table.Queue, id string, t ticket.Number) (Record, error) {
	n, shared := namesOf(q), expression.Value(table.String(ModeShared))
	rec, err := write(ctx, q,
		expression.Set(n.holdMode, shared).Set(n.field(id, table.AttrMode), shared),
		n.held(id, t).And(n.alone()))
	if errors.Is(err, ErrRefused) {
		if h, held := rec.Held(id, t); held && h.Shared {
			return rec, nil // others have joined since
		}
	}
	return rec, err
}
