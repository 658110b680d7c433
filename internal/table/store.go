// Package table sends the library's requests to DynamoDB, and names keys and attributes.
//
// Each method of [Store] sends one request, unless its documentation says otherwise. No
// call outlives its time-out, also where the connection never answers. Every answer, also
// a refusal, feeds the estimate of DynamoDB's clock (heartbeat.Clock).
//
// A false condition is returned as [*Refused], with the item that refused the write, which
// DynamoDB returns since June 2023. A refusal without one means that there is no item. Any
// error reports whether the write may have been applied ([Applied]), and whether another
// attempt can help ([Transient]). If the table is the cause, a [*SchemaError] names what
// was found and what is needed.
//
// It does not promise retries, beyond those of the caller's SDK client, which it turns off
// for a write that its sender repeats (clause.Repeat). It knows nothing of the state of
// records and rows (package requests).
package table

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/queue"
)

// DynamoDB is the part of an SDK client that locks need.
type DynamoDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...Option) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...Option) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...Option) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...Option) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...Option) (*dynamodb.QueryOutput, error)
}

// Option changes one call.
type Option = func(*dynamodb.Options)

// once turns the SDK's retries off.
func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// options are those of a write.
func (e Expressions) options() []Option {
	if e.write.Repeat == clause.BySender {
		return []Option{once}
	}
	return nil
}

// Store sends requests to one table. It is safe for concurrent use.
type Store struct {
	db      DynamoDB
	layout  Layout
	clock   *heartbeat.Clock
	timeout time.Duration
	end     time.Time    // no call outlives it; zero: none
	home    *queue.Home  // of the table of a user's item; else nil
	flat    *atomic.Bool // the engine has refused a function within a function

	dating chan struct{} // has a value while a Date is under way

	throttle func(operation string, err error) // receives throttled attempts; nil: nothing does

	templates *templates
	answers   *answers
}

// NewStore returns a Store whose calls each have that timeout, with the SDK's retries.
func NewStore(db DynamoDB, layout Layout, timeout time.Duration) *Store {
	return &Store{db: db, layout: layout, clock: new(heartbeat.Clock), timeout: timeout, flat: new(atomic.Bool),
		dating: make(chan struct{}, 1), templates: newTemplates(), answers: new(answers)}
}

// Within returns the same table with another timeout.
func (s *Store) Within(timeout time.Duration) *Store {
	if timeout == s.timeout {
		return s
	}
	bounded := *s
	bounded.timeout = timeout
	return &bounded
}

// AtMost returns the same table with a timeout that is not longer than that.
func (s *Store) AtMost(timeout time.Duration) *Store { return s.Within(min(timeout, s.timeout)) }

// Until returns the same table, whose calls also end at that time. Zero: not.
func (s *Store) Until(end time.Time) *Store {
	bounded := *s
	bounded.end = end
	return &bounded
}

func (s *Store) Clock() *heartbeat.Clock { return s.clock }

func (s *Store) Layout() Layout { return s.layout }

// Update updates the item and returns it as it is afterwards. blind: it returns only the item of a refusal, by
// *Refused, as all writes do whose condition is false.
func (s *Store) Update(ctx context.Context, key clause.Item, e Expressions, blind bool) (clause.Item, error) {
	if e.err != nil {
		return nil, e.err
	}
	returned := types.ReturnValueAllNew
	if blind {
		returned = types.ReturnValueNone
	}
	r := s.begin(ctx, "UpdateItem", e.options()...)
	defer r.cancel()
	out, err := s.db.UpdateItem(r.ctx, &dynamodb.UpdateItemInput{
		TableName: &s.layout.Table, Key: key,
		UpdateExpression: e.update, ConditionExpression: e.condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValues:                        returned,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, r.options...)
	if err != nil {
		return nil, s.explain(e, r.failed(err))
	}
	r.answered(out.ResultMetadata)
	return out.Attributes, nil
}

func (s *Store) Put(ctx context.Context, item clause.Item, e Expressions) error {
	if e.err != nil {
		return e.err
	}
	r := s.begin(ctx, "PutItem", e.options()...)
	defer r.cancel()
	out, err := s.db.PutItem(r.ctx, &dynamodb.PutItemInput{
		TableName: &s.layout.Table, Item: item, ConditionExpression: e.condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, r.options...)
	if err != nil {
		return s.explain(e, r.failed(err))
	}
	r.answered(out.ResultMetadata)
	return nil
}

func (s *Store) Delete(ctx context.Context, key clause.Item, e Expressions) error {
	if e.err != nil {
		return e.err
	}
	r := s.begin(ctx, "DeleteItem", e.options()...)
	defer r.cancel()
	out, err := s.db.DeleteItem(r.ctx, &dynamodb.DeleteItemInput{
		TableName: &s.layout.Table, Key: key, ConditionExpression: e.condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, r.options...)
	if err != nil {
		return s.explain(e, r.failed(err))
	}
	r.answered(out.ResultMetadata)
	return nil
}

// Get reads the item consistently. It is nil if there is none.
func (s *Store) Get(ctx context.Context, key clause.Item) (clause.Item, error) {
	r := s.begin(ctx, "GetItem")
	defer r.cancel()
	out, err := s.db.GetItem(r.ctx, &dynamodb.GetItemInput{TableName: &s.layout.Table, Key: key,
		ConsistentRead: aws.Bool(true)}, r.options...)
	if err != nil {
		return nil, r.failed(err)
	}
	r.answered(out.ResultMetadata)
	return out.Item, nil
}

// Range reads a page of at most 1 MB of the items of the queue with sort keys from from to to, in order and
// consistently: the first, or that after the key after. next is where another page begins; nil: this is the last.
func (q Queue) Range(
	ctx context.Context, from, to string, after clause.Item,
) (items []clause.Item, next clause.Item, err error) {
	r := q.begin(ctx, "Query")
	defer r.cancel()
	out, err := q.db.Query(r.ctx, &dynamodb.QueryInput{
		TableName: &q.layout.Table, KeyConditionExpression: aws.String("(#pk = :pk) AND (#sk BETWEEN :from AND :to)"),
		ExpressionAttributeNames: map[string]string{"#pk": q.layout.PK, "#sk": q.layout.SK},
		ExpressionAttributeValues: clause.Item{":pk": clause.String(q.Entity), ":from": clause.String(from),
			":to": clause.String(to)},
		ConsistentRead: aws.Bool(true), ExclusiveStartKey: after,
	}, r.options...)
	if err != nil {
		return nil, nil, r.failed(err)
	}
	r.answered(out.ResultMetadata)
	if len(out.LastEvaluatedKey) > 0 {
		next = out.LastEvaluatedKey
	}
	return out.Items, next, nil
}

// left returns how long a call that begins now may take.
func (s *Store) left() time.Duration {
	if s.end.IsZero() {
		return s.timeout
	}
	return min(s.timeout, time.Until(s.end))
}

// request is one call of the SDK, with the timeout of the store. Either answered or failed takes the answer. cancel
// must be called in the end, also if the SDK client panics.
type request struct {
	*Store
	caller    context.Context
	ctx       context.Context // of the request
	cancel    func()
	operation string
	options   []Option
	sent      time.Time
	timeout   time.Duration
}

func (s *Store) begin(ctx context.Context, operation string, options ...Option) *request {
	r := &request{Store: s, caller: ctx, operation: operation, sent: time.Now(), timeout: s.left()}
	r.ctx, r.cancel = context.WithTimeout(ctx, r.timeout)
	r.options = append([]Option{pausing(r.ctx, r.timeout, r.throttled)}, options...)
	return r
}

func (r *request) throttled(err error) { r.reportThrottle(r.operation, err) }

// answered feeds the clock.
func (r *request) answered(metadata middleware.Metadata) {
	received := time.Now()
	r.answers.note(r.layout.Table, r.operation)
	if date, ok := dateOfAnswer(metadata); ok {
		r.clock.Observe(r.sent, received, date)
	} else {
		r.clock.Undated(received)
	}
}

// failed feeds the clock, and translates the error.
func (r *request) failed(err error) error {
	if date, ok := dateOfError(err); ok {
		r.clock.Observe(r.sent, time.Now(), date)
	}
	r.throttled(err)
	return r.translate(r.caller, r.ctx, r.timeout, r.operation, err)
}
