package otelqueuelock

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/queuelock/queuelock/event"
)

// Instrument counts the requests of an SDK client, the SDK's retries included, and their capacity units:
//
//	dynamodb.NewFromConfig(cfg, otelqueuelock.Instrument())
//
// It sets ReturnConsumedCapacity to TOTAL where the caller has not set it, which costs nothing. DynamoDB does not report
// the units of refused writes, so the units are a lower bound.
func Instrument(opts ...Option) func(*dynamodb.Options) {
	c := newConfig(opts)
	meter := c.meters.Meter(scope)
	count := &counting{
		requests: must(meter.Int64Counter("queuelock.requests", metric.WithUnit("{request}"),
			metric.WithDescription("Requests to DynamoDB, retries included."))),
		units: must(meter.Float64Counter("queuelock.capacity", metric.WithUnit("{unit}"),
			metric.WithDescription("Capacity units that DynamoDB reported."))),
	}
	return func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			if !c.withoutCapacity {
				if err := stack.Initialize.Add(middleware.InitializeMiddlewareFunc("QueuelockCapacity", askForCapacity), middleware.Before); err != nil {
					return err
				}
			}
			// Outermost of this step, and inside of the retries.
			return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("QueuelockRequests", count.handle), middleware.Before)
		})
	}
}

type counting struct {
	requests metric.Int64Counter
	units    metric.Float64Counter
}

func (c *counting) handle(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	out middleware.DeserializeOutput, metadata middleware.Metadata, err error) {
	out, metadata, err = next.HandleDeserialize(ctx, in)
	attributes := []attribute.KeyValue{keyOperation.String(awsmiddleware.GetOperationName(ctx))}
	units := 0.0
	for _, used := range capacity(out.Result) {
		units += aws.ToFloat64(used.CapacityUnits)
	}
	if units > 0 {
		c.units.Add(ctx, units, metric.WithAttributes(attributes...))
	}
	if err != nil {
		attributes = append(attributes, keyError.String(errorType(err)))
	}
	if limit := event.LimitOf(err); limit != event.UnknownLimit {
		attributes = append(attributes, keyLimit.String(limit.String()))
	}
	c.requests.Add(ctx, 1, metric.WithAttributes(attributes...))
	return out, metadata, err
}

// errorType returns the code of an answer, or how a request without one has ended.
func errorType(err error) string {
	var api smithy.APIError
	switch {
	case errors.As(err, &api):
		return api.ErrorCode()
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "no_answer"
}

// capacity returns the units of an answer.
func capacity(result any) []types.ConsumedCapacity {
	one := func(c *types.ConsumedCapacity) []types.ConsumedCapacity {
		if c == nil {
			return nil
		}
		return []types.ConsumedCapacity{*c}
	}
	switch r := result.(type) {
	case *dynamodb.GetItemOutput:
		return one(r.ConsumedCapacity)
	case *dynamodb.PutItemOutput:
		return one(r.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		return one(r.ConsumedCapacity)
	case *dynamodb.DeleteItemOutput:
		return one(r.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		return one(r.ConsumedCapacity)
	case *dynamodb.ScanOutput:
		return one(r.ConsumedCapacity)
	case *dynamodb.TransactGetItemsOutput:
		return r.ConsumedCapacity
	case *dynamodb.TransactWriteItemsOutput:
		return r.ConsumedCapacity
	}
	return nil
}

// askForCapacity asks for the units.
func askForCapacity(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error) {
	type how = types.ReturnConsumedCapacity
	switch p := in.Parameters.(type) {
	case *dynamodb.GetItemInput:
		in.Parameters = asking(p, func(i *dynamodb.GetItemInput) *how { return &i.ReturnConsumedCapacity })
	case *dynamodb.PutItemInput:
		in.Parameters = asking(p, func(i *dynamodb.PutItemInput) *how { return &i.ReturnConsumedCapacity })
	case *dynamodb.UpdateItemInput:
		in.Parameters = asking(p, func(i *dynamodb.UpdateItemInput) *how { return &i.ReturnConsumedCapacity })
	case *dynamodb.DeleteItemInput:
		in.Parameters = asking(p, func(i *dynamodb.DeleteItemInput) *how { return &i.ReturnConsumedCapacity })
	case *dynamodb.QueryInput:
		in.Parameters = asking(p, func(i *dynamodb.QueryInput) *how { return &i.ReturnConsumedCapacity })
	case *dynamodb.ScanInput:
		in.Parameters = asking(p, func(i *dynamodb.ScanInput) *how { return &i.ReturnConsumedCapacity })
	case *dynamodb.TransactGetItemsInput:
		in.Parameters = asking(p, func(i *dynamodb.TransactGetItemsInput) *how { return &i.ReturnConsumedCapacity })
	case *dynamodb.TransactWriteItemsInput:
		in.Parameters = asking(p, func(i *dynamodb.TransactWriteItemsInput) *how { return &i.ReturnConsumedCapacity })
	}
	return next.HandleInitialize(ctx, in)
}

// asking returns a copy of an input that asks for the units, or the input itself if its caller has decided.
func asking[I any](in *I, how func(*I) *types.ReturnConsumedCapacity) *I {
	if *how(in) != "" {
		return in
	}
	asks := *in
	*how(&asks) = types.ReturnConsumedCapacityTotal
	return &asks
}
