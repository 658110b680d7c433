package serving

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Form is one of the two forms of RELEASE.
type Form int

// The forms. Each is refused unless the holder is in the record with its ticket,
// and takes it out: of any number of requests, of either form, one is applied at
// the most. The ticket is asked for too, unlike by Release, because something
// else is written with it: a TAKE that arrives once more puts the id back, and a
// release that is late would write again.
const (
	FormFast    Form = iota + 1 // as ReleaseFast
	FormHandOff                 // as HandOff
)

func (f Form) of(q table.Queue, id string, t ticket.Number, turn Turn) (expression.UpdateBuilder, expression.ConditionBuilder) {
	update, condition := handOffForm(q, id, turn)
	if f == FormFast {
		update, condition = fastForm(q, id, t, turn)
	}
	return update, condition.And(namesOf(q).served(id, t))
}

// ReleaseIn is RELEASE as an item of a transaction of the caller's: the same
// update on the same condition, and that of the ticket. Refused, the transaction's reason for it has
// the record (Refusal). It makes no request.
func ReleaseIn(q table.Queue, f Form, id string, t ticket.Number, turn Turn) (types.Update, error) {
	update, condition := f.of(q, id, t, turn)
	e, err := expression.NewBuilder().WithUpdate(update).WithCondition(condition).Build()
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
