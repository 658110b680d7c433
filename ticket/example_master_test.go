package ticket_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
	"github.com/queuelock/queuelock/ticket"
)

// A counter of invoices, by one request each. The first one makes the item.
func ExampleMaster() {
	db, names := memory(), clause.Names{Key: "pk"}
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

// On an engine that does not evaluate a function within a function, the first request is refused while there is no item, and
// a second one seeds the counter.
func ExampleTake_Refused() {
	db, names := memory(), clause.Names{Key: "pk"}
	master := ticket.Master{Attribute: "last", Names: names}
	take := master.TakeThenSeed(ticket.Rider{}, ticket.Base(time.Time{}))
	for {
		item, err := send(db, "invoices", take.Write, names)
		refused, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
		if !isRefused {
			fmt.Println(master.Number(item))
			break
		}
		if take, err = take.Refused(refused.Item); err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println("next:", take.Name)
	}
	// Output:
	// next: NUMBER that seeds
	// 1 <nil>
}

// A counter that was restored from a backup is raised above the numbers that were used.
func ExampleMaster_Raise() {
	master := ticket.Master{Attribute: "last"}
	raise := master.Raise(ticket.FromUint64(41))
	for _, stands := range []uint64{7, 99} {
		item, _ := raise.Apply(clause.Names{}, clause.Item{"last": ticket.FromUint64(stands).Attribute()})
		fmt.Println(ticket.FromAttribute(item["last"]))
	}
	// Output:
	// 41 <nil>
	// 99 <nil>
}

// memory returns a client of an engine in memory with a table.
func memory() *dynamodb.Client {
	db := faultnet.SDK(faultnet.New(embedded.New(embedded.Config{}), faultnet.Config{}).Connect("example", nil))
	if err := queuelock.CreateTable(context.Background(), db, "queuelock", queuelock.Config{}); err != nil {
		panic(err)
	}
	return db
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
