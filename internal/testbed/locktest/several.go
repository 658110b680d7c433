package locktest

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// KeysOf returns the keys of entities.
func KeysOf(entities ...string) []queuelock.Key {
	var keys []queuelock.Key
	for _, entity := range entities {
		keys = append(keys, queuelock.Key{Entity: entity})
	}
	return keys
}

// AcquireAll calls AcquireAll, which must succeed.
func AcquireAll(t *testing.T, c *queuelock.Client, wait waitpolicy.Wait, entities ...string) *queuelock.Locks {
	t.Helper()
	locks, err := c.AcquireAll(t.Context(), KeysOf(entities...), wait)
	OK(t, err)
	return locks
}

// QueueUpAll calls AcquireAll in the background.
func QueueUpAll(ctx context.Context, c *queuelock.Client, wait waitpolicy.Wait, entities ...string) <-chan SeveralOutcome {
	return Background(func() (*queuelock.Locks, error) { return c.AcquireAll(ctx, KeysOf(entities...), wait) })
}

// NothingLeft checks that the table holds no row and no holder.
func NothingLeft(t *testing.T, table *queuelocktest.Table) {
	t.Helper()
	for _, item := range table.Items() {
		sk := av.Text(item["sk"])
		holders, _ := item["holders"].(*types.AttributeValueMemberM)
		if strings.Contains(sk, "/") && !strings.HasSuffix(sk, "/"+strings.Repeat("0", 38)) || holders != nil && len(holders.Value) > 0 {
			t.Errorf("left behind: %v", item)
		}
	}
}

// Evict removes the holders of all locks of an entity, as an operator does.
func Evict(t *testing.T, table *queuelocktest.Table, entity string) {
	t.Helper()
	db := table.Client("operator")
	for _, item := range table.Items() {
		if item["holders"] == nil || av.Text(item["pk"]) != entity {
			continue
		}
		_, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(table.Name()), Key: av.Item{"pk": item["pk"], "sk": item["sk"]},
			UpdateExpression: aws.String("SET holders = :none"), ExpressionAttributeValues: av.Item{":none": av.Object(nil)},
		})
		OK(t, err)
	}
}

// Counters returns the counters of the wider scopes in the table.
func Counters(table *queuelocktest.Table) []map[string]types.AttributeValue {
	var found []map[string]types.AttributeValue
	for _, item := range table.Items() {
		if !strings.Contains(av.Text(item["sk"]), "/") {
			found = append(found, item)
		}
	}
	return found
}

// ForgetCounters deletes the counters of the wider scopes.
func ForgetCounters(t *testing.T, table *queuelocktest.Table, db *queuelocktest.Client) {
	t.Helper()
	for _, item := range Counters(table) {
		deleteItem(t, db, table.Name(), av.Item{"pk": item["pk"], "sk": item["sk"]})
	}
}

func deleteItem(t *testing.T, db *queuelocktest.Client, table string, key av.Item) {
	t.Helper()
	_, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key})
	OK(t, err)
}
