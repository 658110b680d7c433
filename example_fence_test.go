package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// A protected write commits only while the lock is held, whatever the process believes.
func ExampleLock_Transact() {
	ctx := context.Background()
	_, _, locks, closed := withAnOrder(ctx)
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
	check(err)
	fmt.Println(setStatus(ctx, "order-7", lock, "packed"))
	check(lock.Release(ctx))
	fmt.Println(errors.Is(setStatus(ctx, "order-7", lock, "shipped"), queuelock.ErrReleased))
	// Output:
	// <nil>
	// true
}

// After a holder was evicted, a transaction of it may yet become visible. Get waits for that.
func ExampleLock_Get() {
	ctx := context.Background()
	_, key, locks, closed := withAnOrder(ctx)
	defer closed()
	order := queuelock.Key{Entity: "order-7"}
	check(hangs(ctx, locks, order))

	lock, err := locks.Acquire(ctx, order, waitpolicy.For(time.Minute))
	check(err)
	fmt.Println("unsettled:", lock.Unsettled())
	items, err := lock.Get(ctx, types.TransactGetItem{Get: &types.Get{TableName: aws.String("orders"), Key: key}})
	check(err)
	fmt.Println("the total is", items[0]["total"].(*types.AttributeValueMemberN).Value)
	// Output:
	// unsettled: true
	// the total is 100
}

// hangs acquires a lock whose holder an operator evicts.
func hangs(ctx context.Context, locks *queuelock.Client, key queuelock.Key) error {
	lock, err := locks.Acquire(ctx, key, waitpolicy.NoWait)
	if err != nil {
		return err
	}
	state, err := locks.Viewer().Inspect(ctx, key)
	if err != nil {
		return err
	}
	if err := locks.Operator().Evict(ctx, key, state.Serving[0]); err != nil {
		return err
	}
	if err := lock.Release(ctx); !errors.Is(err, queuelock.ErrLost) {
		return fmt.Errorf("released after an eviction: %w", err)
	}
	return nil
}

// putOrder writes an order that has only its key.
func putOrder(id string) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: aws.String("orders"),
		Item:      map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
	}}
}

// The check is a part of a transaction that the program sends itself.
func ExampleLock_Condition() {
	ctx := context.Background()
	db, _, locks, closed := withAnOrder(ctx)
	defer closed()
	lock, err := locks.Acquire(ctx, queuelock.Key{Entity: "order-8"}, waitpolicy.NoWait)
	check(err)

	write := func() error {
		held := lock.Condition()
		_, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
			TransactItems: []types.TransactWriteItem{{ConditionCheck: &held}, putOrder("order-8")},
		})
		return err
	}
	fmt.Println(write())
	check(lock.Release(ctx))
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](write())
	fmt.Println(ok, *cancelled.CancellationReasons[0].Code)
	// Output:
	// <nil>
	// true ConditionalCheckFailed
}

// The ticket is a fencing token. The protected resource keeps the highest one that it
// has seen, and refuses a lower one.
func ExampleLock_Ticket() {
	ctx := context.Background()
	db, _, locks, closed := withAnOrder(ctx)
	defer closed()

	setStatus := func(ctx context.Context, orderID string, lock *queuelock.Lock, status string) error {
		_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:           aws.String("orders"),
			Key:                 map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: orderID}},
			UpdateExpression:    aws.String("SET #status = :status, #token = :token"),
			ConditionExpression: aws.String("attribute_not_exists(#token) OR #token <= :token"),
			// Both names are reserved words of DynamoDB.
			ExpressionAttributeNames: map[string]string{"#status": "status", "#token": "token"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":status": &types.AttributeValueMemberS{Value: status},
				":token":  lock.Ticket().Attribute(),
			},
		})
		return err
	}

	// The first holder is slow: it was stopped, or its request was, and goes on when the second has written.
	slow, fast := twoTurns(ctx, locks)
	printWrites(
		setStatus(ctx, "order-7", fast, "packed"),
		setStatus(ctx, "order-7", fast, "shipped"),
		setStatus(ctx, "order-7", slow, "cancelled"),
	)
	// Output:
	// written
	// written
	// refused
}

// printWrites prints what a resource that checks tokens has answered.
func printWrites(answers ...error) {
	for _, err := range answers {
		_, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
		switch {
		case refused: // a later holder has written
			fmt.Println("refused")
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println("written")
		}
	}
}

// twoTurns are two holders of one lock, one after the other. The first does not know that its turn is over.
func twoTurns(ctx context.Context, locks *queuelock.Client) (slow, fast *queuelock.Lock) {
	var turns []*queuelock.Lock
	for range 2 {
		err := locks.Do(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.Forever, func(_ context.Context, lock *queuelock.Lock) error {
			turns = append(turns, lock)
			return nil
		})
		if err != nil {
			panic(err)
		}
	}
	return turns[0], turns[1]
}
