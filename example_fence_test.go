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
