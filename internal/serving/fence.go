package serving

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// fence is the condition under which a protected write of the holder id, served
// with ticket t, is made. Of a holder that is alone it asks as well that no
// later ticket was granted: after a downgrade, a write that is late is refused
// once others share.
func (n names) fence(id string, t ticket.Number, alone bool) expression.ConditionBuilder {
	if alone {
		return n.isHolder(id).And(n.latest(t)).And(n.served(id, t))
	}
	return n.isHolder(id).And(n.served(id, t))
}

// Fence is FENCE of the protocol, as a check for a transaction of the caller's
// own. It makes no request.
func Fence(q table.Queue, id string, t ticket.Number, alone bool) (types.ConditionCheck, error) {
	e, err := expression.NewBuilder().WithCondition(namesOf(q).fence(id, t, alone)).Build()
	if err != nil {
		return types.ConditionCheck{}, err
	}
	name := q.Record().Layout().Table
	return types.ConditionCheck{
		TableName:                 &name,
		Key:                       q.RecordKey(),
		ConditionExpression:       e.Condition(),
		ExpressionAttributeNames:  e.Names(),
		ExpressionAttributeValues: e.Values(),
	}, nil
}

// NextCall is the number of the holder's fenced transaction after the one with
// that number. Numbers of transactions are even; the odd number after one says
// that Settle used it up.
func NextCall(call int64) int64 { return call + 2 }

// number numbers the holder's fenced transactions: each is made once, however
// often and however late it arrives.
func (n names) number(id string, call int64) (expression.UpdateBuilder, expression.ConditionBuilder) {
	made, nth := n.field(id, table.AttrMade), expression.Value(table.Int(call))
	return expression.Set(made, nth), made.AttributeNotExists().Or(made.LessThan(nth))
}

// NumberedFence is FENCE for the holder's transaction number call (NextCall):
//
//	SET holders.#id.made = :call
//	if the fence holds AND (attribute_not_exists(holders.#id.made) OR holders.#id.made < :call)
//
// Refused, the transaction's reason has the record (Refusal), of which
// Record.Made says whether an earlier attempt was made. It makes no request.
func NumberedFence(q table.Queue, id string, t ticket.Number, alone bool, call int64) (types.Update, error) {
	n := namesOf(q)
	update, once := n.number(id, call)
	e, err := expression.NewBuilder().WithUpdate(update).WithCondition(n.fence(id, t, alone).And(once)).Build()
	if err != nil {
		return types.Update{}, err
	}
	name := q.Record().Layout().Table
	return types.Update{
		TableName:                           &name,
		Key:                                 q.RecordKey(),
		UpdateExpression:                    e.Update(),
		ConditionExpression:                 e.Condition(),
		ExpressionAttributeNames:            e.Names(),
		ExpressionAttributeValues:           e.Values(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, nil
}

// Settle ends the doubt about a fenced transaction that had no answer: it uses
// the transaction's number up, so that an attempt which is still on its way is
// refused.
//
//	SET holders.#id.made = :call + 1
//	if holders.#id is there with ticket t AND (attribute_not_exists(holders.#id.made) OR holders.#id.made < :call)
//
// MadeNever: it was not made. MadeYes: it was. MadeUnknown: the holder is gone,
// and the record, which is returned, does not say. One request. Calling again is safe.
func Settle(ctx context.Context, q table.Queue, id string, t ticket.Number, call int64) (Made, Record, error) {
	n := namesOf(q)
	_, once := n.number(id, call)
	update := expression.Set(n.field(id, table.AttrMade), expression.Value(table.Int(call+1)))
	rec, err := write(ctx, q, update, n.isHolder(id).And(n.served(id, t)).And(once), table.Once())
	switch {
	case err == nil:
		return MadeNever, rec, nil
	case errors.Is(err, ErrRefused):
		return rec.Made(id, t, call), rec, nil
	}
	return MadeUnknown, rec, err
}

// Refusal is the record that refused a write, as the answer to that write had
// it. Where an engine does not say, it is read: one request. The error is one of a
// write that was not made (table.NotMade): it was the read that failed.
func Refusal(ctx context.Context, q table.Queue, item table.Item) (rec Record, err error) {
	if len(item) > 0 {
		rec, err = Decode(q, item)
	} else {
		rec, err = Get(ctx, q)
	}
	return rec, table.NotMade(err)
}
