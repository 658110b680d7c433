package locktest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/queuelocktest"
)

// Account returns the key of an item that tests write beside a lock.
func Account() map[string]types.AttributeValue {
	return av.Item{"pk": av.Str("account-1"), "sk": av.Str("balance")}
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

// RefusedDeposit makes a deposit under the lock that is refused, because the account is there,
// and then deletes the account. A copy of it, which the transport has, is sent by
// Injection.Release of the result, and is not refused by the account any more.
func RefusedDeposit(t *testing.T, table *queuelocktest.Table, db *queuelocktest.Client, lock *queuelock.Lock) *queuelocktest.Injection {
	t.Helper()
	Write(t, table, Account())
	copied := db.Inject(queuelocktest.HoldDuplicate().Of("TransactWriteItems").Times(1))
	if err := lock.Transact(t.Context(), Deposit(table, aws.String("attribute_not_exists(pk)"))); err == nil {
		t.Fatal("the transaction was made")
	}
	deleteItem(t, db, table.Name(), Account())
	return copied
}

// WithCondition makes a deposit in one transaction with a condition check.
func WithCondition(t *testing.T, table *queuelocktest.Table, check types.ConditionCheck) error {
	_, err := table.Client("user").TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{Deposit(table, nil), {ConditionCheck: &check}},
	})
	return err
}
