package conformance

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// splitCheck is a check of a transaction of four items. The check's update is
// visible after one second, the delete after two, the condition check after
// three, the put after four.
type splitCheck struct {
	*check
	start time.Time
	done  chan error
}

func (c *splitCheck) transaction() []types.TransactWriteItem {
	return []types.TransactWriteItem{
		c.updateAction("update", "SET a = a + :one", "", item{":one": n(1)}),
		c.deleteAction("delete", ""),
		c.checkAction("check", "attribute_exists(pk)"),
		c.putAction("put", item{"a": n(2)}, "", ""),
	}
}

// begin sends the transaction, and returns once its items are pending.
func (c *splitCheck) begin() {
	c.start, c.done = time.Now(), make(chan error, 1)
	go func() { c.done <- c.transact("token", c.transaction()...) }()
	synctest.Wait()
}

// at lets time pass until d after the transaction was sent.
func (c *splitCheck) at(d time.Duration) { time.Sleep(time.Until(c.start.Add(d))) }

// answered wants the transaction to succeed, four seconds after it was sent.
func (c *splitCheck) answered() {
	c.must(<-c.done)
	c.same("the time of the answer", time.Since(c.start), 4*time.Second)
}

// pending are the sort keys of the items, by the second before whose end they
// are visible.
var pending = []string{"update", "delete", "check", "put"}

// isA wants err to be the exception of DynamoDB's.
func isA[E error](c *check, what string, err error) {
	if _, ok := errors.AsType[E](err); !ok {
		c.Errorf("%s: want %T, got: %v", what, *new(E), err)
	}
}

// The other engines show all items of a transaction at once, so these checks are
// for the embedded engine alone. transaction-apis.html in the developer guide,
// "Isolation levels" and "Transaction conflict handling"; API_TransactWriteItems.html
// in the API reference.
func TestSplitTransactions(t *testing.T) {
	run := func(name string, f func(c *splitCheck)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				delays := []time.Duration{1 * time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second}
				net := faultnet.New(embedded.New(embedded.Config{Split: func(int) []time.Duration { return delays }}), faultnet.Config{})
				db := faultnet.SDK(net.Connect("c", nil), func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
				c := &splitCheck{check: &check{t: t, ctx: t.Context(), db: db, table: newTableName(), pk: name}}
				createTable(t, db, tableInput(c.table))
				c.run(func(*check) {
					c.given("update", item{"a": n(1)})
					c.given("delete", item{"a": n(1)})
					c.given("check", item{"a": n(1)})
					f(c)
				})
				for _, failure := range c.failures {
					t.Error(failure)
				}
				if err := net.Settle(context.Background()); err != nil {
					t.Error(err)
				}
			})
		})
	}

	run("ItemsBecomeVisibleOneByOneAndThenTheSenderIsAnswered", func(c *splitCheck) {
		c.begin()
		for _, seen := range []struct {
			after               time.Duration
			update, delete, put item
		}{
			{0, item{"a": n(1)}, item{"a": n(1)}, nil},
			{1 * time.Second, item{"a": n(2)}, item{"a": n(1)}, nil},
			{2 * time.Second, item{"a": n(2)}, nil, nil},
			{3 * time.Second, item{"a": n(2)}, nil, nil},
			{4 * time.Second, item{"a": n(2)}, nil, item{"a": n(2)}},
		} {
			c.at(seen.after)
			c.holds("update", seen.update)
			c.holds("delete", seen.delete)
			c.holds("check", item{"a": n(1)})
			c.holds("put", seen.put)
		}
		c.answered()
	})

	run("ReadsOfManyItemsSeePendingOnesAsTheyWere", func(c *splitCheck) {
		c.begin()
		c.at(time.Second)
		want := []item{c.with("check", item{"a": n(1)}), c.with("delete", item{"a": n(1)}), c.with("update", item{"a": n(2)})}
		queried, err := c.db.Query(c.ctx, &dynamodb.QueryInput{
			TableName: &c.table, ConsistentRead: aws.Bool(true),
			KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: item{":pk": str(c.pk)},
		})
		c.must(err)
		c.same("Query", queried.Items, want)
		scanned, err := c.db.Scan(c.ctx, &dynamodb.ScanInput{TableName: &c.table, ConsistentRead: aws.Bool(true)})
		c.must(err)
		c.same("Scan", scanned.Items, want)
		var keys []item
		for _, sk := range []string{"check", "delete", "put", "update"} {
			keys = append(keys, c.key(sk))
		}
		got, err := c.db.BatchGetItem(c.ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			c.table: {Keys: keys, ConsistentRead: aws.Bool(true)},
		}})
		c.must(err)
		c.same("BatchGetItem", got.Responses[c.table], want)
		c.answered()
	})

	run("WritesOfPendingItemsConflictUntilTheyAreVisible", func(c *splitCheck) {
		writes := map[string]func(sk string) error{
			"PutItem": func(sk string) error { _, err := c.put(sk, item{"b": n(1)}, op{}); return err },
			"PutItem with a false condition": func(sk string) error {
				_, err := c.put(sk, item{"b": n(1)}, op{condition: "attribute_exists(pk) AND attribute_not_exists(pk)"})
				return err
			},
			"UpdateItem": func(sk string) error {
				_, err := c.update(sk, op{update: "SET b = :b", values: item{":b": n(1)}})
				return err
			},
			"DeleteItem": func(sk string) error { _, err := c.delete(sk, op{}); return err },
		}
		c.begin()
		for i := range pending {
			for _, sk := range pending[i:] {
				for name, write := range writes {
					isA[*types.TransactionConflictException](c.check, name+" of "+sk, write(sk))
				}
			}
			c.at(time.Duration(i+1) * time.Second)
			c.must(errorOf(c.put(pending[i], item{"b": n(1)}, op{})))
		}
		c.answered()
		for _, sk := range pending {
			c.holds(sk, item{"b": n(1)})
		}
	})

	run("TransactionsWithPendingItemsAreCancelled", func(c *splitCheck) {
		get := func(sks ...string) error {
			var gets []types.TransactGetItem
			for _, sk := range sks {
				gets = append(gets, types.TransactGetItem{Get: &types.Get{TableName: &c.table, Key: c.key(sk)}})
			}
			_, err := c.db.TransactGetItems(c.ctx, &dynamodb.TransactGetItemsInput{TransactItems: gets})
			return err
		}
		c.begin()
		for i := range pending {
			for _, sk := range pending[i:] {
				want := []string{"None", "TransactionConflict"}
				c.same("TransactGetItems of "+sk, codes(c.cancelled(get("free", sk))), want)
				c.same("TransactWriteItems of "+sk, codes(c.cancelled(c.transact("", c.putAction("free", nil, "", ""), c.deleteAction(sk, "attribute_exists(b)")))), want)
				c.same("ConditionCheck of "+sk, codes(c.cancelled(c.transact("", c.putAction("free", nil, "", ""), c.checkAction(sk, "attribute_exists(b)")))), want)
			}
			c.at(time.Duration(i+1) * time.Second)
			c.must(get("free", pending[i]))
		}
		c.answered()
		c.holds("free", nil)
	})

	run("BatchWritesLeavePendingItemsUnprocessed", func(c *splitCheck) {
		put := func(sk string) types.WriteRequest {
			return types.WriteRequest{PutRequest: &types.PutRequest{Item: c.with(sk, item{"b": n(1)})}}
		}
		c.begin()
		out, err := c.db.BatchWriteItem(c.ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
			c.table: {put("free"), put("put")},
		}})
		c.must(err)
		left := out.UnprocessedItems[c.table]
		if len(left) != 1 || left[0].PutRequest == nil {
			c.Fatalf("unprocessed are %v", out.UnprocessedItems)
		}
		c.same("the unprocessed item", left[0].PutRequest.Item, put("put").PutRequest.Item)
		c.holds("free", item{"b": n(1)})
		c.answered()
		c.holds("put", item{"a": n(2)})
	})

	run("TokenIsInProgressUntilAllIsVisible", func(c *splitCheck) {
		c.begin()
		for second := range 4 {
			c.at(time.Duration(second) * time.Second)
			isA[*types.TransactionInProgressException](c.check, "the same request", c.transact("token", c.transaction()...))
			isA[*types.IdempotentParameterMismatchException](c.check, "another request", c.transact("token", c.deleteAction("free", "")))
		}
		c.answered()
		c.must(c.transact("token", c.transaction()...))
		c.same("the time of the repetition", time.Since(c.start), 4*time.Second)
		c.holds("update", item{"a": n(2)})
	})

	run("CancelledTransactionLocksNothing", func(c *splitCheck) {
		c.cancelled(c.transact("token", append(c.transaction(), c.checkAction("none", "attribute_exists(pk)"))...))
		for _, sk := range pending {
			c.must(errorOf(c.put(sk, item{"a": n(1)}, op{})))
		}
		c.begin() // its token is free
		c.answered()
	})
}
