package queuelock_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// DynamoDB commits the items of a transaction one by one, so a release must not
// be visible before the writes that belong to the same turn. Each turn reads an
// item with a plain consistent read, adds one, and writes it back.
func TestSplitTransactions(t *testing.T) {
	const clients, turns = 4, 25
	const window = 50 * time.Millisecond
	for name, end := range map[string]func(context.Context, *queuelock.Lock, types.TransactWriteItem) error{
		// ReleaseWith is to be added here: it loses updates as long as its
		// transaction includes the release.
		"TransactAndReleaseLoseNoUpdate": func(ctx context.Context, lock *queuelock.Lock, write types.TransactWriteItem) error {
			if err := lock.Transact(ctx, write); err != nil {
				return err
			}
			return lock.Release(ctx)
		},
	} {
		for split, opt := range map[string]queuelocktest.Option{
			"WhenAllTakeMilliseconds": queuelocktest.WithSplitTransactions(window, 0, 1),
			"WhenSomeTakeSeconds":     queuelocktest.WithSplitTransactions(window, 0.05, 2),
			"WhenTheRecordIsFirst":    nil,
		} {
			inBubble(t, name+"/"+split, func(t *testing.T) {
				opts := []queuelocktest.Option{queuelocktest.WithLatency(4 * time.Millisecond)}
				if opt != nil {
					opts = append(opts, opt)
				}
				table := queuelocktest.NewTable(t, opts...)
				if opt == nil {
					table.Inject(queuelocktest.SplitTransaction(20*time.Millisecond, 0)) // the record's item is the last
				}
				var all sync.WaitGroup
				for i := range clients {
					c, db := open(t, table, fmt.Sprint("client-", i), queuelock.Config{})
					all.Go(func() {
						for range turns {
							lock, err := c.Acquire(t.Context(), order, waitpolicy.Forever)
							if err == nil {
								err = end(t.Context(), lock, increment(t, table, db))
							}
							if err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				if err := table.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := balance(table); got != strconv.Itoa(clients*turns) {
					t.Errorf("%s of %d updates survived", got, clients*turns)
				}
			})
		}
	}
}

// increment reads the account, and returns the write of the next amount.
func increment(t *testing.T, table *queuelocktest.Table, db *queuelocktest.Client) types.TransactWriteItem {
	out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(table.Name()), Key: account(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Error(err)
		return types.TransactWriteItem{}
	}
	amount := 0
	if was, ok := out.Item["amount"].(*types.AttributeValueMemberN); ok {
		if amount, err = strconv.Atoi(was.Value); err != nil {
			t.Error(err)
		}
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: aws.String(table.Name()), Key: account(), UpdateExpression: aws.String("SET amount = :next"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":next": &types.AttributeValueMemberN{Value: strconv.Itoa(amount + 1)}},
	}}
}
