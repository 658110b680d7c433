package serving

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// SetData replaces the data of a holder. Empty data is removed:
//
//	SET holders.#id.data = :data, holders.#id.dataSet = :call
//	if the holder holds the lock as HEARTBEAT asks
//	   AND (attribute_not_exists(holders.#id.dataSet) OR holders.#id.dataSet <= :call)
//
// call numbers the calls of one holder, from 1. The last condition refuses a call that
// arrives after a later one, which would restore older data. Such a call succeeds.
// ErrRefused is a loss.
func SetData(ctx context.Context, q table.Queue, id string, t ticket.Number, call int64, data []byte) (Record, error) {
	n := namesOf(q)
	attrData, set := n.field(id, table.AttrData), n.field(id, table.AttrDataSet)
	nth := expression.Value(table.Int(call))
	update := expression.Set(set, nth)
	if len(data) > 0 {
		update = update.Set(attrData, expression.Value(&types.AttributeValueMemberB{Value: data}))
	} else {
		update = update.Remove(attrData)
	}
	rec, err := write(ctx, q, update,
		n.held(id, t).And(set.AttributeNotExists().Or(set.LessThanEqual(nth))))
	if errors.Is(err, ErrRefused) {
		if h, held := rec.Held(id, t); held && h.DataSet > call {
			return rec, nil
		}
	}
	return rec, err
}
