package locktest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/queuelocktest"
)

// Account returns the key of an item that tests write beside a lock.
func Account() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "account-1"},
		"sk": &types.AttributeValueMemberS{Value: "balance"},
	}
}

// Deposit returns a write that adds one to the account if the condition holds.
// Nil is no condition.
func Deposit(table *queuelocktest.Table, condition *string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName:                 aws.String(table.Name()),
		Key:                       Account(),
		UpdateExpression:          aws.String("ADD amount :one"),
		ConditionExpression:       condition,
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	}}
}

// Balance returns the amount of the account, read around all faults.
func Balance(table *queuelocktest.Table) string {
	for _, item := range table.Items() {
		if n, ok := item["amount"].(*types.AttributeValueMemberN); ok {
			return n.Value
		}
	}
	return "0"
}

// WithCondition makes a deposit in one transaction with a condition check.
func WithCondition(t *testing.T, table *queuelocktest.Table, check types.ConditionCheck) error {
	_, err := table.Client("user").TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{Deposit(table, nil), {ConditionCheck: &check}},
	})
	return err
}
