package ticket_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/ticket"
)

// A counter of invoices, by one request each. The first one makes the item.
func ExampleMaster() {
	db, names := locktest.Memory(), clause.Names{Key: "pk"}
	master := ticket.Master{Attribute: "last", Names: names}
	for range 2 {
		take := master.Take(ticket.Rider{}, ticket.Base(time.Time{}))
		item, err := send(db, "invoices", take.Write, names)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(master.Number(item))
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
}

// send sends a write once.
func send(db *dynamodb.Client, item string, w clause.Write, names clause.Names) (clause.Item, error) {
	e, err := w.Builder(names).Build()
	if err != nil {
		return nil, err
	}
	name := "queuelock"
	out, err := db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: &name, Key: clause.Item{"pk": text(item), "sk": text("counter")},
		UpdateExpression: e.Update(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}
