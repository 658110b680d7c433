package serving

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// fence returns the condition of a fenced write by the holder id with ticket t. For a
// holder that is alone it also asks that no later ticket was granted. After a
// downgrade, a late write is then refused once other holders have joined.
func (n names) fence(id string, t ticket.Number, alone bool) expression.ConditionBuilder {
	if alone {
		return n.isHolder(id).And(n.latest(number(t))).And(n.served(id, t))
	}
	return n.isHolder(id).And(n.served(id, t))
}

// Fence returns FENCE of the protocol as a check for a transaction of the caller. It
// sends nothing.
func Fence(q table.Queue, id string, t ticket.Number, alone bool) (types.ConditionCheck, error) {
	e, err := expression.NewBuilder().WithCondition(namesOf(q).fence(id, t, alone)).Build()
	name := q.Record().Layout().Table
	return types.ConditionCheck{
		TableName:                 &name,
		Key:                       q.RecordKey(),
		ConditionExpression:       e.Condition(),
		ExpressionAttributeNames:  e.Names(),
		ExpressionAttributeValues: e.Values(),
	}, err
}

// NextCall returns the number of the fenced transaction after call. Transactions have
// even numbers. The odd number after one means that Settle has used it.
func NextCall(call int64) int64 { return call + 2 }

// number returns the update and the condition that number a fenced transaction. The
// transaction is applied once, however often and however late it arrives.
func (n names) number(id string, call int64) (expression.UpdateBuilder, expression.ConditionBuilder) {
	made, nth := n.field(id, table.AttrMade), integer(call)
	return expression.Set(made, nth), made.AttributeNotExists().Or(made.LessThan(nth))
}

// NumberedFence returns FENCE for the holder's transaction number call (NextCall). If it is
// refused, the reason contains the record (Refusal), and Record.Made says whether an earlier
// attempt was applied. It sends nothing.
func NumberedFence(q table.Queue, id string, t ticket.Number, alone bool, call int64) (types.Update, error) {
	n := namesOf(q)
	update, once := n.number(id, call)
	e, err := expression.NewBuilder().WithUpdate(update).WithCondition(n.fence(id, t, alone).And(once)).Build()
	name := q.Record().Layout().Table
	return types.Update{
		TableName:                           &name,
		Key:                                 q.RecordKey(),
		UpdateExpression:                    e.Update(),
		ConditionExpression:                 e.Condition(),
		ExpressionAttributeNames:            e.Names(),
		ExpressionAttributeValues:           e.Values(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, err
}

// Settle decides a fenced transaction whose outcome is unknown. It uses up the number of
// the transaction, so that an attempt still under way is refused. It returns MadeYes or
// MadeNever, or MadeUnknown with the record if the holder is gone and the record does not
// say.
func Settle(ctx context.Context, q table.Queue, id string, t ticket.Number, call int64) (Made, Record, error) {
	n := namesOf(q)
	_, once := n.number(id, call)
	update := expression.Set(n.field(id, table.AttrMade), integer(call+1))
	rec, err := write(ctx, q, update, n.fence(id, t, false).And(once), table.Once())
	switch {
	case err == nil:
		return MadeNever, rec, nil
	case errors.Is(err, ErrRefused):
		return rec.Made(id, t, call), rec, nil
	}
	return MadeUnknown, rec, err
}

// Refusal returns the record that refused a write, as the answer to that write
// contained it. Where an engine returns no item, it is read with one request. After an
// error of that read the write may have been applied.
func Refusal(ctx context.Context, q table.Queue, item table.Item) (rec Record, err error) {
	if len(item) > 0 {
		rec, err = Decode(q, item)
		return rec, table.NotApplied(err)
	}
	rec, err = Get(ctx, q)
	return rec, table.Unread(err)
}
