package demo

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/turns"
	"github.com/queuelock/queuelock/ticket"
)

// witness is a client between the library and the SDK. It counts requests and
// capacity, and reports when a number was taken and when a row was present. It
// changes a request only by asking for its consumed capacity.
type witness struct {
	db     queuelock.DynamoDB
	report func(turns.Record)

	mu    sync.Mutex
	usage turns.Usage // guarded by mu
}

var _ queuelock.DynamoDB = (*witness)(nil)

// used returns the usage so far.
func (w *witness) used() turns.Usage {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.usage
}

func (w *witness) add(u turns.Usage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.usage = w.usage.Add(u)
}

// counting makes the SDK count every attempt.
func (w *witness) counting(optFns []func(*dynamodb.Options)) []func(*dynamodb.Options) {
	attempt := middleware.FinalizeMiddlewareFunc("CountAttempts", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		w.add(turns.Usage{Requests: 1})
		return next.HandleFinalize(ctx, in)
	})
	// Behind the retries, so that each is seen; optFns belongs to the caller.
	return append(optFns[:len(optFns):len(optFns)], func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Finalize.Insert(attempt, "Retry", middleware.After)
		})
	})
}

// wrote adds the cost of a write.
func (w *witness) wrote(consumed *types.ConsumedCapacity, err error) {
	if _, refused := errors.AsType[*types.ConditionalCheckFailedException](err); refused {
		w.add(turns.Usage{WriteUnits: 1})
	}
	if consumed != nil {
		w.add(turns.Usage{WriteUnits: aws.ToFloat64(consumed.CapacityUnits)})
	}
}

func (w *witness) read(consumed *types.ConsumedCapacity) {
	if consumed != nil {
		w.add(turns.Usage{ReadUnits: aws.ToFloat64(consumed.CapacityUnits)})
	}
}

// GetItem implements queuelock.DynamoDB, as do the methods below.
func (w *witness) GetItem(ctx context.Context, in *dynamodb.GetItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := w.db.GetItem(ctx, &asked, w.counting(optFns)...)
	if err == nil {
		w.read(out.ConsumedCapacity)
	}
	return out, err
}

func (w *witness) Query(ctx context.Context, in *dynamodb.QueryInput, optFns ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := w.db.Query(ctx, &asked, w.counting(optFns)...)
	if err == nil {
		w.read(out.ConsumedCapacity)
	}
	return out, err
}

func (w *witness) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := w.db.DeleteItem(ctx, &asked, w.counting(optFns)...)
	if err != nil {
		w.wrote(nil, err)
		return out, err
	}
	w.wrote(out.ConsumedCapacity, nil)
	return out, nil
}

// PutItem puts a row.
func (w *witness) PutItem(ctx context.Context, in *dynamodb.PutItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	sent := turns.Now()
	out, err := w.db.PutItem(ctx, &asked, w.counting(optFns)...)
	if err != nil {
		w.wrote(nil, err)
		return out, err
	}
	w.wrote(out.ConsumedCapacity, nil)
	if n, ok := rowOf(in.Item); ok {
		w.report(turns.Record{Kind: turns.Queued, At: turns.Now(), Sent: sent, Ticket: n})
	}
	return out, nil
}

// UpdateItem writes to the record, or renews a row.
func (w *witness) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	sent := turns.Now()
	out, err := w.db.UpdateItem(ctx, &asked, w.counting(optFns)...)
	if err != nil {
		w.wrote(nil, err)
		return out, err
	}
	w.wrote(out.ConsumedCapacity, nil)
	if n, ok := rowOf(in.Key); ok {
		w.report(turns.Record{Kind: turns.Renewed, At: sent, Ticket: n})
	} else if n, ok := issued(out.Attributes); ok && takes(in) {
		w.report(turns.Record{Kind: turns.Took, At: sent, Ticket: n})
	}
	return out, nil
}

// takes reports whether an update of the record sets the counter.
func takes(in *dynamodb.UpdateItemInput) bool {
	for placeholder, name := range in.ExpressionAttributeNames {
		if name == attr.TicketNumber && strings.Contains(aws.ToString(in.UpdateExpression), placeholder+" = ") {
			return true
		}
	}
	return false
}

// issued returns the last number that was issued, from an image of the record.
func issued(item map[string]types.AttributeValue) (ticket.Number, bool) {
	n, ok := item[attr.TicketNumber].(*types.AttributeValueMemberN)
	if !ok {
		return ticket.Number{}, false
	}
	number, err := ticket.Parse(n.Value)
	return number, err == nil
}

// rowOf returns the ticket in a row's key; false for the record, which is number zero.
func rowOf(key map[string]types.AttributeValue) (ticket.Number, bool) {
	sk, ok := key["sk"].(*types.AttributeValueMemberS)
	if !ok {
		return ticket.Number{}, false
	}
	_, padded, _ := strings.Cut(sk.Value, "/")
	number, err := ticket.Parse(padded)
	return number, err == nil && !number.IsZero()
}
