package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// withAnOrder is a DynamoDB in memory that has order-7, its key there, and a client of locks. closed must be called in
// the end.
func withAnOrder(ctx context.Context) (
	db *dynamodb.Client, key map[string]types.AttributeValue, locks *queuelock.Client, closed func(),
) {
	db = locktest.Memory()
	locktest.Must(db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            aws.String("orders"),
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
	}))
	key = map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "order-7"}}
	locktest.Must(db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: map[string]types.AttributeValue{
		"id": key["id"], "total": &types.AttributeValueMemberN{Value: "100"},
	}}))
	locks, closed = client(db, "worker-1", time.Minute)
	return db, key, locks, closed
}

// addShipping reads an order, and writes it with another total.
func addShipping(ctx context.Context, locks *queuelock.Client, key map[string]types.AttributeValue) (err error) {
	item, err := locks.LockItem(ctx, queuelock.ItemKey{Table: "orders", Key: key}, waitpolicy.For(time.Minute))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, item.Release(ctx)) }() // if it was not released by the update
	was, ok := item.Item()["total"].(*types.AttributeValueMemberN)
	if !ok {
		return errors.New("the order has no total")
	}
	total, err := strconv.Atoi(was.Value)
	if err != nil {
		return err
	}
	_, err = item.UpdateAndRelease(ctx, expression.Set(expression.Name("total"), expression.Value(total+20)))
	return err
}

// A read, a change and a write of an item under a fair lock take two requests if no client waits.
func ExampleClient_LockItem() {
	ctx := context.Background()
	_, key, locks, closed := withAnOrder(ctx)
	defer closed()

	for range 2 {
		check(addShipping(ctx, locks, key))
	}
	item, err := locks.LockItem(ctx, queuelock.ItemKey{Table: "orders", Key: key}, waitpolicy.NoWait)
	check(err)
	fmt.Println("the total is", item.Item()["total"].(*types.AttributeValueMemberN).Value)
	check(item.Release(ctx))
	missing := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "order-8"}}
	_, err = locks.LockItem(ctx, queuelock.ItemKey{Table: "orders", Key: missing}, waitpolicy.NoWait)
	fmt.Println(errors.Is(err, queuelock.ErrNoItem))
	// Output:
	// the total is 140
	// true
}

// An update whose condition is false writes nothing, and the lock is still held.
func ExampleItemLock_UpdateAndRelease() {
	ctx := context.Background()
	_, key, locks, closed := withAnOrder(ctx)
	defer closed()
	item, err := locks.LockItem(ctx, queuelock.ItemKey{Table: "orders", Key: key}, waitpolicy.For(time.Minute))
	check(err)

	total := expression.Name("total")
	pay := expression.Set(total, total.Minus(expression.Value(500)))
	_, err = item.UpdateAndRelease(ctx, pay, total.GreaterThanEqual(expression.Value(500)))
	if refused, ok := errors.AsType[*queuelock.ConditionError](err); ok {
		fmt.Println("not enough, there is only", refused.Current["total"].(*types.AttributeValueMemberN).Value)
	}
	fmt.Println("still held:", item.Err() == nil)
	after, err := item.UpdateAndRelease(ctx, expression.Set(expression.Name("note"), expression.Value("declined")))
	check(err)
	fmt.Println("released, with", len(after), "attributes:", errors.Is(item.Err(), queuelock.ErrReleased))
	// Output:
	// not enough, there is only 100
	// still held: true
	// released, with 3 attributes: true
}

// An item that is missing is created with its lock.
func ExampleCreateItem() {
	ctx := context.Background()
	_, _, locks, closed := withAnOrder(ctx)
	defer closed()
	order := queuelock.ItemKey{Table: "orders", Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "order-8"}}}

	item, err := locks.LockItem(ctx, order, waitpolicy.NoWait, queuelock.CreateItem())
	check(err)
	fmt.Println("locked", item.ItemKey())
	after, err := item.UpdateAndRelease(ctx, expression.Set(expression.Name("status"), expression.Value("new")))
	check(err)
	fmt.Println("the order is", after["status"].(*types.AttributeValueMemberS).Value)
	// Output:
	// locked "orders" {id S:"order-8"}
	// the order is new
}
