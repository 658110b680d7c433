package faultnet_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// seen returns the requests that a call sends.
func seen(send func(*dynamodb.Client) error) faultnet.Request {
	var got faultnet.Request
	conn := newRig(faultnet.Config{}).net.Connect("alice", func(req faultnet.Request) fault.Fate {
		got = req
		return fault.Fate{}
	})
	_ = send(faultnet.SDK(conn)) // the table may refuse it
	return got
}

// TestRequest checks that a request is printed without its placeholders.
func TestRequest(t *testing.T) {
	key := map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "order-7"},
		"sk": &types.AttributeValueMemberS{Value: "lock/00000000000000000000000000000000000005"},
	}
	update := func(c *dynamodb.Client) error {
		_, err := c.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName:                aws.String("tab"),
			Key:                      key,
			UpdateExpression:         aws.String("SET #0.#1 = :0,\n  #2 = :1"),
			ConditionExpression:      aws.String("size(#0) = :2"),
			ExpressionAttributeNames: map[string]string{"#0": "holders", "#1": "h1", "#2": "note"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":0": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
					"beat": &types.AttributeValueMemberN{Value: "0"},
					"ok":   &types.AttributeValueMemberBOOL{Value: true},
				}},
				":1": &types.AttributeValueMemberL{Value: []types.AttributeValue{
					&types.AttributeValueMemberS{Value: "a"},
					&types.AttributeValueMemberNULL{Value: true},
					&types.AttributeValueMemberNS{Value: []string{"1", "2"}},
				}},
				":2": &types.AttributeValueMemberN{Value: "0"},
			},
		})
		return err
	}
	transact := func(c *dynamodb.Client) error {
		_, err := c.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{ConditionCheck: &types.ConditionCheck{TableName: aws.String("tab"), Key: key, ConditionExpression: aws.String("attribute_exists(pk)")}},
			{Delete: &types.Delete{TableName: aws.String("tab"), Key: key, ConditionExpression: aws.String("attribute_exists(sk)")}},
		}})
		return err
	}
	batch := func(c *dynamodb.Client) error {
		_, err := c.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
			"t": {{DeleteRequest: &types.DeleteRequest{Key: key}}, {PutRequest: &types.PutRequest{Item: key}}},
		}})
		return err
	}
	for _, test := range []struct {
		send       func(*dynamodb.Client) error
		operation  string
		expression string
		items      int
	}{
		{update, "UpdateItem", `SET holders.h1 = {beat: 0, ok: true}, note = ["a", null, [1, 2]] IF size(holders) = 0`, 1},
		{transact, "TransactWriteItems", "IF attribute_exists(pk); IF attribute_exists(sk)", 2},
		{batch, "BatchWriteItem", "", 2},
	} {
		t.Run(test.operation, func(t *testing.T) {
			got := seen(test.send)
			if got.Client != "alice" || got.Operation != test.operation || got.Attempt != 1 {
				t.Errorf("got %s by %s, attempt %d", got.Operation, got.Client, got.Attempt)
			}
			if got.Expression() != test.expression {
				t.Errorf("got  %s\nwant %s", got.Expression(), test.expression)
			}
			if items := got.Items(); len(items) != test.items {
				t.Errorf("names %d items, want %d: %v", len(items), test.items, items)
			}
			if text := got.Describe(); !strings.Contains(text, `sk: "lock/0…5"`) || !strings.HasSuffix(text, test.expression) {
				t.Errorf("described as %s", text)
			}
		})
	}
}

// TestLog checks that the log keeps the latest requests.
func TestLog(t *testing.T) {
	r := newRig(faultnet.Config{LogLimit: 3})
	client, _ := r.client("alice")
	for _, key := range []string{"one", "two", "three", "four", "five"} {
		locktest.Must(client.PutItem(t.Context(), put(key, false)))
	}
	lines := strings.Split(strings.TrimSpace(r.net.Log()), "\n")
	if len(lines) != 4 {
		t.Fatalf("got %d lines, want 4:\n%s", len(lines), r.net.Log())
	}
	for i, want := range []string{"2 earlier", "three", "four", "five"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %q in it", i, lines[i], want)
		}
	}
}
