package table

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/queuelock/queuelock/internal/dbclock"
)

// DynamoDB is the part of an SDK client that locks need.
type DynamoDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

var _ DynamoDB = (*dynamodb.Client)(nil)

// Store sends requests to one table. It is safe for concurrent use.
type Store struct {
	db      DynamoDB
	layout  Layout
	clock   *dbclock.Clock
	timeout time.Duration
	home    *Home        // of the table of a user's item; else nil
	shows   *atomic.Bool // an answer has shown an item that refused a write
}

// NewStore returns a Store whose calls each have that timeout, with the SDK's retries. It
// makes no request.
func NewStore(db DynamoDB, layout Layout, timeout time.Duration) *Store {
	return &Store{db: db, layout: layout, clock: dbclock.New(), timeout: timeout, shows: new(atomic.Bool)}
}

// Within returns the same table with another timeout.
func (s *Store) Within(timeout time.Duration) *Store {
	bounded := *s
	bounded.timeout = timeout
	return &bounded
}

// Clock returns the estimate of DynamoDB's clock that all calls feed.
func (s *Store) Clock() *dbclock.Clock { return s.clock }

// Layout returns the names of the table and its keys.
func (s *Store) Layout() Layout { return s.layout }

// retryDelay is the longest pause before a retry of the SDK's. Its default grows to
// seconds, and a lock whose release had no answer would idle for that long.
const retryDelay = 150 * time.Millisecond

// Option changes one call.
type Option func(*dynamodb.Options)

// Once turns the SDK's retries off, for calls whose attempts must differ.
func Once() Option {
	return func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
}

// Update updates the item and returns it as it is afterwards. Returns *Refused if the
// condition was false.
func (s *Store) Update(ctx context.Context, key Item, update expression.UpdateBuilder, condition expression.ConditionBuilder, opts ...Option) (Item, error) {
	e, err := expression.NewBuilder().WithUpdate(update).WithCondition(condition).Build()
	if err != nil {
		return nil, err
	}
	return s.Write(ctx, key, Write{*e.Update(), *e.Condition(), e.Names(), e.Values()}, opts...)
}

// Write is Update with expressions that are built already.
func (s *Store) Write(ctx context.Context, key Item, w Write, opts ...Option) (Item, error) {
	out, err := send(ctx, s, "UpdateItem", s.db.UpdateItem, &dynamodb.UpdateItemInput{
		TableName:                           &s.layout.Table,
		Key:                                 key,
		UpdateExpression:                    &w.Update,
		ConditionExpression:                 &w.Condition,
		ExpressionAttributeNames:            w.Names,
		ExpressionAttributeValues:           w.Values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, func(out *dynamodb.UpdateItemOutput) middleware.Metadata { return out.ResultMetadata }, opts...)
	if err != nil {
		return nil, s.refusable(key, err)
	}
	return out.Attributes, nil
}

// Put writes the item. Returns *Refused if the condition was false.
func (s *Store) Put(ctx context.Context, item Item, condition expression.ConditionBuilder, opts ...Option) error {
	e, err := expression.NewBuilder().WithCondition(condition).Build()
	if err != nil {
		return err
	}
	_, err = send(ctx, s, "PutItem", s.db.PutItem, &dynamodb.PutItemInput{
		TableName:                           &s.layout.Table,
		Item:                                item,
		ConditionExpression:                 e.Condition(),
		ExpressionAttributeNames:            e.Names(),
		ExpressionAttributeValues:           e.Values(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, func(out *dynamodb.PutItemOutput) middleware.Metadata { return out.ResultMetadata }, opts...)
	key := Item{s.layout.PK: item[s.layout.PK], s.layout.SK: item[s.layout.SK]}
	return s.refusable(key, err)
}

// Delete deletes the item. Returns *Refused if the condition was false.
func (s *Store) Delete(ctx context.Context, key Item, condition expression.ConditionBuilder, opts ...Option) error {
	e, err := expression.NewBuilder().WithCondition(condition).Build()
	if err != nil {
		return err
	}
	_, err = send(ctx, s, "DeleteItem", s.db.DeleteItem, &dynamodb.DeleteItemInput{
		TableName:                           &s.layout.Table,
		Key:                                 key,
		ConditionExpression:                 e.Condition(),
		ExpressionAttributeNames:            e.Names(),
		ExpressionAttributeValues:           e.Values(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, func(out *dynamodb.DeleteItemOutput) middleware.Metadata { return out.ResultMetadata }, opts...)
	return s.refusable(key, err)
}

// Get reads the item consistently. It is nil if there is none.
func (s *Store) Get(ctx context.Context, key Item) (Item, error) {
	out, err := send(ctx, s, "GetItem", s.db.GetItem, &dynamodb.GetItemInput{
		TableName:      &s.layout.Table,
		Key:            key,
		ConsistentRead: aws.Bool(true),
	}, func(out *dynamodb.GetItemOutput) middleware.Metadata { return out.ResultMetadata })
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// Range reads all items of the queue with sort keys from from to to, in order and
// consistently. It sends one request for each page of 1 MB.
func (q Queue) Range(ctx context.Context, from, to string) ([]Item, error) {
	e, err := expression.NewBuilder().WithKeyCondition(
		expression.KeyEqual(expression.Key(q.layout.PK), expression.Value(String(q.Entity))).
			And(expression.KeyBetween(expression.Key(q.layout.SK), expression.Value(String(from)), expression.Value(String(to)))),
	).Build()
	if err != nil {
		return nil, err
	}
	var items []Item
	var next Item
	for {
		out, err := send(ctx, q.Store, "Query", q.db.Query, &dynamodb.QueryInput{
			TableName:                 &q.layout.Table,
			KeyConditionExpression:    e.KeyCondition(),
			ExpressionAttributeNames:  e.Names(),
			ExpressionAttributeValues: e.Values(),
			ConsistentRead:            aws.Bool(true),
			ExclusiveStartKey:         next,
		}, func(out *dynamodb.QueryOutput) middleware.Metadata { return out.ResultMetadata })
		if err != nil {
			return items, err
		}
		items, next = append(items, out.Items...), out.LastEvaluatedKey
		if len(next) == 0 {
			return items, nil
		}
	}
}

// send sends a request with the timeout, feeds the clock with its answer, and translates
// its error. metadata returns the metadata of an answer.
func send[In, Out any](ctx context.Context, s *Store, operation string,
	request func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error), in *In,
	metadata func(*Out) middleware.Metadata, opts ...Option) (*Out, error) {
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	fns := []func(*dynamodb.Options){func(o *dynamodb.Options) {
		o.Retryer = retry.AddWithMaxBackoffDelay(o.Retryer, retryDelay)
	}}
	for _, o := range opts {
		fns = append(fns, o)
	}
	sent := time.Now()
	out, err := request(bounded, in, fns...)
	received := time.Now()
	if err == nil {
		s.clock.Answered()
		if date, ok := dateOfAnswer(metadata(out)); ok {
			s.clock.Observe(sent, received, date)
		}
		return out, nil
	}
	if date, ok := dateOfError(err); ok {
		s.clock.Observe(sent, received, date)
	}
	return nil, s.translate(ctx, bounded, operation, err)
}
