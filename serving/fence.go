package serving

import (
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/ticket"
)

// Fence is FENCE of the protocol: a check for a transaction, which then commits
// only while the holder id, served with ticket t, is in the record and no later
// ticket was granted. It makes no request.
func Fence(q table.Queue, id string, t ticket.Number) (types.ConditionCheck, error) {
	e, err := expression.NewBuilder().WithCondition(namesOf(q).held(id, t)).Build()
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
