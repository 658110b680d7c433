package locktest

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/queuelocktest"
)

// Breaking is a DynamoDB client with UpdateItem and Query calls that end their goroutine: the next Left ones that name Attribute.
// Empty: any.
type Breaking struct {
	*queuelocktest.Client
	Left      atomic.Int64
	Attribute string
	End       func() // nil: it panics with "mistake"
}

func (b *Breaking) of(names map[string]string) {
	named := b.Attribute == "" || slices.Contains(slices.Collect(maps.Values(names)), b.Attribute)
	if !named || b.Left.Add(-1) < 0 {
		return
	}
	if b.End == nil {
		panic("mistake")
	}
	b.End()
}

// UpdateItem is one of the calls.
func (b *Breaking) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	b.of(in.ExpressionAttributeNames)
	return b.Client.UpdateItem(ctx, in, opts...)
}

// Query is one of the calls.
func (b *Breaking) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	b.of(in.ExpressionAttributeNames)
	return b.Client.Query(ctx, in, opts...)
}

// Repeating is an SDK client whose transport sends an UpdateItem again on its own, as AWS's DAX client does: its caller
// hears the answer to the last copy only.
type Repeating struct {
	*queuelocktest.Client
	Again func(*dynamodb.UpdateItemInput) bool // called when the first copy was applied
}

// UpdateItem calls the client's UpdateItem, perhaps twice.
func (r Repeating) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := r.Client.UpdateItem(ctx, in, opts...)
	if err != nil || !r.Again(in) {
		return out, err
	}
	return r.Client.UpdateItem(ctx, in, opts...)
}
