package serving

import (
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Fence is FENCE of the protocol: a check for a transaction, which then commits
// only while the holder id, served with ticket t, is in the record; and if it
// holds alone, while no later ticket was granted: of one who holds alone no
// longer, a write that is late is refused once others share. It makes no request.
func Fence(q table.Queue, id string, t ticket.Number, alone bool) (types.ConditionCheck, error) {
	n := namesOf(q)
	condition := n.isHolder(id).And(n.served(id, t))
	if alone {
		condition = n.isHolder(id).And(n.latest(t)).And(n.served(id, t))
	}
	e, err := expression.NewBuilder().WithCondition(condition).Build()
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
