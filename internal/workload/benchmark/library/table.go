package library

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// Table is a table in which the library is measured. Its methods are not safe for
// concurrent use.
type Table struct {
	Name string
	// Prefix begins the keys that are used. No other program may use such keys.
	Prefix string
	// Connect returns a client with connections of its own, and a function that closes
	// them.
	Connect func(...func(*dynamodb.Options)) (db *dynamodb.Client, closeIdle func())

	Meter capacity.Meter // counts the requests of all clients

	trials int
	mu     sync.Mutex
	keys   map[string]bool // guarded by mu; used and not deleted yet
}

// Bare measures consistent reads of an item that does not exist. Returns the library's
// error if the table cannot be used.
func (t *Table) Bare(ctx context.Context, n int) (benchmark.Bare, error) {
	db, closeIdle := t.Connect(t.Meter.Option)
	defer closeIdle()
	if err := check(ctx, db, t.Name, t.Prefix); err != nil {
		return benchmark.Bare{}, err
	}
	return benchmark.MeasureBare("a read", n, func() error {
		_, err := db.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &t.Name, ConsistentRead: aws.Bool(true), Key: keyOf(t.Prefix, "bare"),
		})
		return err
	})
}

// Try measures a variant once, with keys of its own, and deletes them.
func (t *Table) Try(ctx context.Context, v scenario.Variant, repetition int, bare benchmark.Bare) (scenario.Values, error) {
	t.trials++
	prefix := fmt.Sprintf("%s/%d/", t.Prefix, t.trials)
	trial := &scenario.Trial{
		Start:     func() (scenario.Process, error) { return &process{table: t, prefix: prefix}, nil },
		Count:     t.Meter.Count,
		RoundTrip: time.Duration(bare.P50 * float64(time.Millisecond)),
		Slack:     bare.Slack(),
		Random:    rand.New(rand.NewPCG(uint64(repetition), 10)),
	}
	values, err := v.Measure(ctx, trial)
	trial.Close()
	return values, errors.Join(err, t.cleanUp(ctx))
}

// check looks at a queue that does not exist.
func check(ctx context.Context, db *dynamodb.Client, table, entity string) error {
	client, err := queuelock.New(db, table, queuelock.Config{})
	if err != nil {
		return err
	}
	_, err = client.Viewer().Inspect(ctx, queuelock.Key{Entity: entity})
	return errors.Join(err, client.Close(ctx))
}

func (t *Table) used(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == nil {
		t.keys = map[string]bool{}
	}
	t.keys[key] = true
}

// cleanUpLimit bounds how long keys are deleted, also if ctx has ended.
const cleanUpLimit = 30 * time.Second

// cleanUp deletes all items of the keys.
func (t *Table) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
	defer cancel()
	t.mu.Lock()
	keys := slices.Sorted(maps.Keys(t.keys))
	t.mu.Unlock()
	db, closeIdle := t.Connect(t.Meter.Option)
	defer closeIdle()
	err := scenario.Each(len(keys), 16, func(i int) error {
		if err := t.deleteKey(ctx, db, keys[i]); err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.keys, keys[i])
		return nil
	})
	if err != nil {
		return fmt.Errorf("%d keys that begin with %q are left in the table: %w", t.Left(), t.Prefix, err)
	}
	return nil
}

// Left returns how many keys could not be deleted.
func (t *Table) Left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.keys)
}

func (t *Table) deleteKey(ctx context.Context, db *dynamodb.Client, key string) error {
	pages := dynamodb.NewQueryPaginator(db, &dynamodb.QueryInput{
		TableName: &t.Name, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#pk = :key"),
		ProjectionExpression:      aws.String("#pk, #sk"),
		ExpressionAttributeNames:  map[string]string{"#pk": "pk", "#sk": "sk"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":key": &types.AttributeValueMemberS{Value: key}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			if _, err := db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.Name, Key: item}); err != nil {
				return err
			}
		}
	}
	return nil
}

func keyOf(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
	}
}
