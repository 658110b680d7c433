package faults_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

// The published ticket-queue pattern is a counter, which each process increments for its
// ticket, and a queue row for each ticket that is the lock itself. The client with the
// first unexpired row holds it. Rows expire by the wall clocks of hosts, and a client
// reads whether it is first.
//
// Each of its holes is a schedule here. Under it the published pattern must fail, or the
// schedule proves nothing, and this library must pass.

// published is that pattern.
type published struct {
	db    *queuelocktest.Client
	table string
	now   func() time.Time // the host's wall clock
	ttl   time.Duration
}

func (p published) key(sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: locktest.Order.Entity},
		"sk": &types.AttributeValueMemberS{Value: sk},
	}
}

func (p published) rowKey(n ticket.Number) map[string]types.AttributeValue {
	return p.key("lock/" + n.Padded())
}

// take increments the counter.
func (p published) take(ctx context.Context) (ticket.Number, error) {
	out, err := p.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &p.table, Key: p.key("ticket-master"), ReturnValues: types.ReturnValueAllNew,
		UpdateExpression:          aws.String("ADD ticketNumber :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	})
	if err != nil {
		return ticket.Number{}, err
	}
	return ticket.Parse(out.Attributes["ticketNumber"].(*types.AttributeValueMemberN).Value)
}

func (p published) expiry() types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(p.now().Add(p.ttl).UnixMilli(), 10)}
}

// enqueue writes the row.
func (p published) enqueue(ctx context.Context, n ticket.Number) error {
	item := p.rowKey(n)
	item["expiresAt"] = p.expiry()
	_, err := p.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &p.table, Item: item, ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	return err
}

// first reports whether the row is the first unexpired one: then it is "held".
func (p published) first(ctx context.Context, n ticket.Number) (bool, error) {
	out, err := p.db.Query(ctx, &dynamodb.QueryInput{
		TableName: &p.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :sk)"),
		FilterExpression:       aws.String("expiresAt > :now"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk":  &types.AttributeValueMemberS{Value: locktest.Order.Entity},
			":sk":  &types.AttributeValueMemberS{Value: "lock/"},
			":now": &types.AttributeValueMemberN{Value: strconv.FormatInt(p.now().UnixMilli(), 10)},
		},
	})
	if err != nil || len(out.Items) == 0 {
		return false, err
	}
	return out.Items[0]["sk"].(*types.AttributeValueMemberS).Value == "lock/"+n.Padded(), nil
}

// heartbeat renews the row, asking only for existence.
func (p published) heartbeat(ctx context.Context, n ticket.Number) error {
	_, err := p.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &p.table, Key: p.rowKey(n),
		UpdateExpression: aws.String("SET expiresAt = :e"), ConditionExpression: aws.String("attribute_exists(pk)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":e": p.expiry()},
	})
	return err
}

// sweep deletes a row that was read expired, unconditionally.
func (p published) sweep(ctx context.Context, n ticket.Number) error {
	_, err := p.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &p.table, Key: p.rowKey(n)})
	return err
}

func done(err error) {
	if err != nil {
		panic(fmt.Sprintf("a step of the schedule failed: %v", err))
	}
}

func publishedClients(t *testing.T, ttl time.Duration) (table *queuelocktest.Table, a, b published) {
	table = queuelocktest.NewTable(t)
	a = published{db: table.Client("a"), table: table.Name(), now: time.Now, ttl: ttl}
	b = published{db: table.Client("b"), table: table.Name(), now: time.Now, ttl: ttl}
	return table, a, b
}
