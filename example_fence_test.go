package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// A protected write commits only while the lock is held: the table refuses it
// otherwise, whatever the process believes.
func ExampleLock_Transact() {
	ctx := context.Background()
	db := newMemoryTable()
	if err := createOrders(ctx, db); err != nil {
		fmt.Println(err)
		return
	}
	locks, closed := client(db, "worker-1", time.Minute)
	defer closed()

	setStatus := func(ctx context.Context, orderID string, lock *queuelock.Lock, status string) error {
		return lock.Transact(ctx, types.TransactWriteItem{Update: &types.Update{
			TableName:                 aws.String("orders"),
			Key:                       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: orderID}},
			UpdateExpression:          aws.String("SET #status = :status"),
			ExpressionAttributeNames:  map[string]string{"#status": "status"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":status": &types.AttributeValueMemberS{Value: status}},
		}})
	}
	lock, err := locks.Acquire(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.Forever)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(setStatus(ctx, "order-7", lock, "packed"))
	if err := lock.Release(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(errors.Is(setStatus(ctx, "order-7", lock, "shipped"), queuelock.ErrReleased))
	// Output:
	// <nil>
	// true
}

// The work is committed exactly when the lock is given back: both or neither.
func ExampleLock_ReleaseWith() {
	ctx := context.Background()
	db := newMemoryTable()
	if err := createOrders(ctx, db); err != nil {
		fmt.Println(err)
		return
	}
	locks, closed := client(db, "worker-1", time.Minute)
	defer closed()

	finish := func(ctx context.Context, orderID string, lock *queuelock.Lock) error {
		return lock.ReleaseWith(ctx, types.TransactWriteItem{Update: &types.Update{
			TableName:                 aws.String("orders"),
			Key:                       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: orderID}},
			UpdateExpression:          aws.String("SET #status = :shipped"),
			ExpressionAttributeNames:  map[string]string{"#status": "status"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":shipped": &types.AttributeValueMemberS{Value: "shipped"}},
		}})
	}
	lock, err := locks.Acquire(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.Forever)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := lock.Release(ctx); err != nil { // nothing is left to do after finish
			fmt.Println(err)
		}
	}()
	fmt.Println(finish(ctx, "order-7", lock))
	fmt.Println(errors.Is(lock.Err(), queuelock.ErrReleased))
	// Output:
	// <nil>
	// true
}
