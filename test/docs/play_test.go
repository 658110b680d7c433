package docs_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// order is the key that these tests lock.
var order = queuelock.Key{Entity: "order-7"}

type outcome struct {
	lock *queuelock.Lock
	err  error
}

func newTable(t *testing.T) *queuelocktest.Table {
	t.Helper()
	return queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond))
}

func acquire(t *testing.T, c *queuelock.Client, key queuelock.Key, wait waitpolicy.Wait, opts ...queuelock.AcquireOption) *queuelock.Lock {
	t.Helper()
	lock := locktest.Must(c.Acquire(t.Context(), key, wait, opts...))
	return lock
}

// queueUp acquires the lock of order in the background.
func queueUp(ctx context.Context, c *queuelock.Client) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		lock, err := c.Acquire(ctx, order, waitpolicy.Forever)
		done <- outcome{lock, err}
	}()
	return done
}

func (o outcome) must(t *testing.T) *queuelock.Lock {
	t.Helper()
	if o.err != nil {
		t.Fatal(o.err)
	}
	return o.lock
}

// release releases a lock, or several.
func release(t *testing.T, lock interface{ Release(context.Context) error }) {
	t.Helper()
	locktest.OK(t, lock.Release(t.Context()))
}

func acquireAll(t *testing.T, c *queuelock.Client, wait waitpolicy.Wait, entities ...string) *queuelock.Locks {
	t.Helper()
	var keys []queuelock.Key
	for _, entity := range entities {
		keys = append(keys, queuelock.Key{Entity: entity})
	}
	locks := locktest.Must(c.AcquireAll(t.Context(), keys, wait))
	return locks
}

// deposit is a write of an item that a lock protects.
func deposit(table *queuelocktest.Table) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName:                 aws.String(table.Name()),
		Key:                       map[string]types.AttributeValue{"pk": text("account"), "sk": text("account")},
		UpdateExpression:          aws.String("ADD amount :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": number("1")},
	}}
}

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

// newOrder makes a table of the user's with one order in it.
func newOrder(t *testing.T, table *queuelocktest.Table) queuelock.ItemKey {
	t.Helper()
	db, name := table.Client("user"), table.Name()+"-orders"
	locktest.Must(db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
	}))
	whole := map[string]types.AttributeValue{"id": text("order-7"), "amount": number("100")}
	locktest.Must(db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: whole}))
	return queuelock.ItemKey{Table: name, Key: map[string]types.AttributeValue{"id": text("order-7")}}
}

func lockItem(t *testing.T, c *queuelock.Client, key queuelock.ItemKey) *queuelock.ItemLock {
	t.Helper()
	lock := locktest.Must(c.LockItem(t.Context(), key, waitpolicy.Forever))
	return lock
}

func updateAndRelease(t *testing.T, lock *queuelock.ItemLock, cond ...expression.ConditionBuilder) {
	t.Helper()
	addOne := expression.Set(expression.Name("amount"), expression.Plus(expression.Name("amount"), expression.Value(1)))
	locktest.Must(lock.UpdateAndRelease(t.Context(), addOne, cond...))
}
