package optimistic_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/optimistic"
)

// newOrders is a client of a DynamoDB in memory with the table "orders", whose key is "id", and order-7 in it.
func newOrders(ctx context.Context) (*dynamodb.Client, *optimistic.Table) {
	db := locktest.Memory()
	_, err := db.CreateTable(ctx, keyed([2]string{"id", "S"})("orders"))
	check(err)
	orders, err := optimistic.New(db, "orders", "id", optimistic.Config{})
	check(err)
	_, err = orders.Save(ctx, optimistic.Item{Attributes: map[string]types.AttributeValue{
		"id":     &types.AttributeValueMemberS{Value: "order-7"},
		"status": &types.AttributeValueMemberS{Value: "new"},
	}})
	check(err)
	return db, orders
}

// check ends an example of which a step has failed.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func orderKey(id string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}
}

func status(item optimistic.Item) string {
	s, ok := item.Attributes["status"].(*types.AttributeValueMemberS)
	if !ok {
		return "unknown"
	}
	return s.Value
}

// An order is shipped while other clients change it.
func ExampleTable_Update() {
	ctx := context.Background()
	_, orders := newOrders(ctx)
	errCancelled := errors.New("the order was cancelled")

	shipped, err := orders.Update(ctx, orderKey("order-7"), func(order optimistic.Item) (optimistic.Item, error) {
		if status(order) == "cancelled" {
			return order, errCancelled // ends the update: nothing is written
		}
		order.Attributes["status"] = &types.AttributeValueMemberS{Value: "shipped"}
		return order, nil
	})
	check(err)
	fmt.Printf("%s, version %d\n", status(shipped), shipped.Version())
	// Output:
	// shipped, version 2
}

// Two people edit one order. The second is shown what the first has saved.
func ExampleConflictError() {
	ctx := context.Background()
	_, orders := newOrders(ctx)

	edit := func(order optimistic.Item, to string) {
		order.Attributes["status"] = &types.AttributeValueMemberS{Value: to}
		saved, err := orders.Save(ctx, order)
		var conflict *optimistic.ConflictError
		switch {
		case errors.As(err, &conflict) && conflict.Current != nil:
			fmt.Printf("not saved: the order is %s by now, version %d\n", status(*conflict.Current), conflict.Current.Version())
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Printf("saved: the order is %s\n", status(saved))
		}
	}

	alices, err := orders.Load(ctx, orderKey("order-7"))
	check(err)
	bobs, err := orders.Load(ctx, orderKey("order-7"))
	check(err)
	edit(alices, "packed")
	edit(bobs, "cancelled")
	// Output:
	// saved: the order is packed
	// not saved: the order is packed by now, version 2
}

// A program that was restarted repeats its update. Its token says that it was made.
func ExampleWithToken() {
	ctx := context.Background()
	_, orders := newOrders(ctx)

	for range 2 {
		order, err := orders.Update(ctx, orderKey("order-7"), func(order optimistic.Item) (optimistic.Item, error) {
			fmt.Println("adding a line")
			order.Attributes["lines"] = &types.AttributeValueMemberN{Value: "1"}
			return order, nil
		}, optimistic.WithToken("request-4711"))
		check(err)
		fmt.Println("version", order.Version())
	}
	// Output:
	// adding a line
	// version 2
	// version 2
}

// An order and a message of it are written in one transaction: both, or none.
func ExampleTable_SaveItem() {
	ctx := context.Background()
	db, orders := newOrders(ctx)

	requestCharge := func() error {
		order, err := orders.Load(ctx, orderKey("order-7"))
		if err != nil {
			return err
		}
		order.Attributes["status"] = &types.AttributeValueMemberS{Value: "charge requested"}
		put, saved, err := orders.SaveItem(order)
		if err != nil {
			return err
		}
		message := types.TransactWriteItem{Put: &types.Put{
			TableName: aws.String("orders"),
			Item: map[string]types.AttributeValue{
				"id":     &types.AttributeValueMemberS{Value: "outbox/order-7/" + saved.Tag()},
				"status": &types.AttributeValueMemberS{Value: "charge"},
			},
		}}
		_, err = db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
			TransactItems: []types.TransactWriteItem{put, message},
		})
		if err := orders.Outcome(err, 0, saved); err != nil {
			return err // ErrConflict: the order has been changed, and no message was sent
		}
		fmt.Printf("%s, version %d\n", status(saved), saved.Version())
		return nil
	}
	check(requestCharge())
	// Output:
	// charge requested, version 2
}
