package otelqueuelock

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/queuelock/queuelock"
)

const traceparent = "traceparent"

// WithTrace publishes the context of ctx's span as the data of the holder, for the acquire spans of waiters to link to.
// It is a W3C traceparent of 55 bytes, without a tracestate. It replaces WithData, and counts against the limit of
// WithData, which is 4096 bytes, 256 with Shared, and less with many Permits. Every client that may read the table
// sees it. Without a span in ctx it changes nothing.
func WithTrace(ctx context.Context) queuelock.Option {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if carrier[traceparent] == "" {
		return nil
	}
	return queuelock.WithData([]byte(carrier[traceparent]))
}

// traceOf returns what WithTrace has published; invalid: it has not.
func traceOf(data []byte) trace.SpanContext {
	carrier := propagation.MapCarrier{traceparent: string(data)}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}
