package serving

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Fence returns FENCE of the protocol as a check for a transaction of the caller. It
// sends nothing.
func Fence(q table.Queue, id string, t ticket.Number, alone bool) (types.ConditionCheck, error) {
	return q.Record().Check(q.RecordKey(), clause.Write{Name: "FENCE", Kind: clause.Check, If: fence(id, t, alone)}, q.Names())
}

// NextCall returns the number of the fenced transaction after call. Transactions have
// even numbers. The odd number after one means that Settle has used it.
func NextCall(call int64) int64 { return call + 2 }

// NumberedFence returns FENCE for the holder's transaction number call (NextCall). If it is
// refused, the reason contains the record, and Record.Made says whether an earlier
// attempt was applied. It sends nothing.
func NumberedFence(q table.Queue, id string, t ticket.Number, alone bool, call int64) (types.Update, error) {
	return q.Record().InTransaction(q.RecordKey(), numberedFence(id, t, alone, call), q.Names())
}

// Settle decides a fenced transaction whose outcome is unknown. It uses up the number of
// the transaction, so that an attempt still under way is refused. It returns MadeYes or
// MadeNever, or MadeUnknown with the record if the holder is gone and the record does not
// say.
func Settle(ctx context.Context, q table.Queue, id string, t ticket.Number, call int64) (Made, Record, error) {
	rec, err := send(ctx, q, settle(id, t, call))
	switch {
	case err == nil:
		return MadeNever, rec, nil
	case errors.Is(err, ErrRefused):
		return rec.Made(id, t, call), rec, nil
	}
	return MadeUnknown, rec, err
}
