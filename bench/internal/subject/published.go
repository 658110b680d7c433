package subject

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// Published is the published ticket-queue pattern: a counter issues tickets, each ticket
// has a row, and the client whose unexpired row is first holds the lock. It is not safe:
// a client that pauses between its ticket and its row can join a holder.
var Published = Subject{
	Subject: benchmark.Subject{
		Name:   "published",
		Title:  "published pattern",
		Config: "written for this benchmark; a consistent query each 100 ms while waiting, and a heartbeat each quarter of the lease",
		Skips:  map[string]string{"nowait": "it cannot ask without a ticket and a row"},
	},
	Create: func(ctx context.Context, site Site) error { return createTable(ctx, site, "pk", "sk") },
	Open: func(_ context.Context, site Site) (scenario.Locker, error) {
		return published{connect(site.DynamoDB), site.Table, site.Lease}, nil
	},
}

type published struct {
	db    *dynamodb.Client
	table string
	lease time.Duration
}

func (p published) Try(context.Context, string) (scenario.Release, error) {
	return nil, fmt.Errorf("the published pattern: %s", Published.Skips["nowait"])
}

func (p published) Acquire(ctx context.Context, key string) (_ scenario.Release, err error) {
	row, err := p.enqueue(ctx, key)
	if err != nil {
		return nil, err
	}
	beats, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beating sync.WaitGroup
	beating.Go(func() { p.renew(beats, row) })
	leave := func(ctx context.Context) error {
		stop()
		beating.Wait()
		_, err := p.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &p.table, Key: row})
		return err
	}
	for {
		first, err := p.first(ctx, row)
		if err == nil && first {
			return leave, nil
		}
		if err == nil {
			retry.Sleep(ctx, Poll)
			err = ctx.Err()
		}
		if err != nil {
			_ = leave(context.WithoutCancel(ctx))
			return nil, err
		}
	}
}

// enqueue takes a ticket and puts its row. It returns the row's key.
func (p published) enqueue(ctx context.Context, key string) (map[string]types.AttributeValue, error) {
	taken, err := p.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &p.table, Key: itemKey("counter/"+key, "counter"), ReturnValues: types.ReturnValueUpdatedNew,
		UpdateExpression:          aws.String("ADD ticketNumber :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": number(1)},
	})
	if err != nil {
		return nil, err
	}
	ticket, err := strconv.ParseInt(taken.Attributes["ticketNumber"].(*types.AttributeValueMemberN).Value, 10, 64)
	if err != nil {
		return nil, err
	}
	row := itemKey("lock/"+key, fmt.Sprintf("%019d", ticket))
	item := map[string]types.AttributeValue{"pk": row["pk"], "sk": row["sk"], "expiresAt": p.expiry()}
	_, err = p.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &p.table, Item: item, ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	return row, err
}

// first reports whether the row is the first that has not expired. It deletes expired
// rows before it.
func (p published) first(ctx context.Context, row map[string]types.AttributeValue) (bool, error) {
	found, err := p.db.Query(ctx, &dynamodb.QueryInput{
		TableName: &p.table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(100),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": row["pk"]},
	})
	if err != nil {
		return false, err
	}
	for _, item := range found.Items {
		end, err := strconv.ParseInt(item["expiresAt"].(*types.AttributeValueMemberN).Value, 10, 64)
		if err != nil {
			return false, err
		}
		if end >= time.Now().UnixMilli() {
			return text(item["sk"]) == text(row["sk"]), nil
		}
		expired := map[string]types.AttributeValue{"pk": item["pk"], "sk": item["sk"]}
		if _, err := p.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &p.table, Key: expired}); err != nil {
			return false, err
		}
	}
	return false, nil
}

// renew renews the row until ctx ends.
func (p published) renew(ctx context.Context, row map[string]types.AttributeValue) {
	for retry.Sleep(ctx, p.lease/4) {
		_, _ = p.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &p.table, Key: row,
			UpdateExpression: aws.String("SET expiresAt = :end"), ConditionExpression: aws.String("attribute_exists(pk)"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":end": p.expiry()},
		})
	}
}

func (p published) expiry() types.AttributeValue { return number(time.Now().Add(p.lease).UnixMilli()) }

func itemKey(partition, sort string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: partition}, "sk": &types.AttributeValueMemberS{Value: sort},
	}
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func text(v types.AttributeValue) string { return v.(*types.AttributeValueMemberS).Value }
