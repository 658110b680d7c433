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
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/waitpolicy"
)

func withAnOrder(ctx context.Context) (*dynamodb.Client, map[string]types.AttributeValue, error) {
	db := newMemoryTable()
	if err := createOrders(ctx, db); err != nil {
		return nil, nil, err
	}
	key := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "order-7"}}
	_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: map[string]types.AttributeValue{
		"id": key["id"], "total": &types.AttributeValueMemberN{Value: "100"},
	}})
	return db, key, err
}

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

func ExampleClient_LockItem() {
	ctx := context.Background()
	db, key, err := withAnOrder(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	locks, closed := client(db, "worker-1", time.Minute)
	defer closed()

	for range 2 {
		if err := addShipping(ctx, locks, key); err != nil {
			fmt.Println(err)
			return
		}
	}
	item, err := locks.LockItem(ctx, queuelock.ItemKey{Table: "orders", Key: key}, waitpolicy.NoWait)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the total is", item.Item()["total"].(*types.AttributeValueMemberN).Value)
	if err := item.Release(ctx); err != nil {
		fmt.Println(err)
	}
	missing := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "order-8"}}
	_, err = locks.LockItem(ctx, queuelock.ItemKey{Table: "orders", Key: missing}, waitpolicy.NoWait)
	fmt.Println(errors.Is(err, queuelock.ErrNoItem))
	// Output:
	// the total is 140
	// true
}

func ExampleItemLock_UpdateAndRelease() {
	ctx := context.Background()
	db, key, err := withAnOrder(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	locks, closed := client(db, "worker-1", time.Minute)
	defer closed()
	item, err := locks.LockItem(ctx, queuelock.ItemKey{Table: "orders", Key: key}, waitpolicy.For(time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}

	total := expression.Name("total")
	pay := expression.Set(total, total.Minus(expression.Value(500)))
	_, err = item.UpdateAndRelease(ctx, pay, total.GreaterThanEqual(expression.Value(500)))
	if refused, ok := errors.AsType[*queuelock.ConditionError](err); ok {
		fmt.Println("not enough, there is only", refused.Current["total"].(*types.AttributeValueMemberN).Value)
	}
	fmt.Println("still held:", item.Err() == nil)
	after, err := item.UpdateAndRelease(ctx, expression.Set(expression.Name("note"), expression.Value("declined")))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("released, with", len(after), "attributes:", errors.Is(item.Err(), queuelock.ErrReleased))
	// Output:
	// not enough, there is only 100
	// still held: true
	// released, with 3 attributes: true
}

func ExampleCreateItem() {
	ctx := context.Background()
	db, _, err := withAnOrder(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	locks, closed := client(db, "worker-1", time.Minute)
	defer closed()
	order := queuelock.ItemKey{Table: "orders", Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "order-8"}}}

	item, err := locks.LockItem(ctx, order, waitpolicy.NoWait, queuelock.CreateItem())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("locked", item.ItemKey())
	after, err := item.UpdateAndRelease(ctx, expression.Set(expression.Name("status"), expression.Value("new")))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the order is", after["status"].(*types.AttributeValueMemberS).Value)
	// Output:
	// locked "orders" {id S:"order-8"}
	// the order is new
}

func inspectOrder(ctx context.Context, locks *queuelock.Client, order queuelock.ItemKey) (queue.Holder, error) {
	state, err := locks.Viewer().Inspect(ctx, order)
	if err != nil {
		return queue.Holder{}, err
	}
	if len(state.Serving) == 0 {
		return queue.Holder{}, errors.New("the item is not locked")
	}
	return state.Serving[0], nil
}

func ExampleOperator_Evict_item() {
	ctx := context.Background()
	db, key, err := withAnOrder(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	locks, closed := client(db, "worker-1", time.Minute)
	defer closed()
	order := queuelock.ItemKey{Table: "orders", Key: key}
	item, err := locks.LockItem(ctx, order, waitpolicy.NoWait)
	if err != nil {
		fmt.Println(err)
		return
	}

	holder, err := inspectOrder(ctx, locks, order)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s has ticket %s\n", holder.Owner, holder.Ticket)
	if err := locks.Operator().Evict(ctx, order, holder); err != nil {
		fmt.Println(err)
	}
	_, err = item.UpdateAndRelease(ctx, expression.Set(expression.Name("note"), expression.Value("too late")))
	fmt.Println("its update is refused:", errors.Is(err, queuelock.ErrLost))
	// Output:
	// worker-1 has ticket 1
	// its update is refused: true
}
