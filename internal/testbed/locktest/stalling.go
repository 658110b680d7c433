package locktest

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Stalling is an SDK client whose caller pauses before and after requests, as a
// suspended process does.
type Stalling struct {
	*dynamodb.Client
	Pause func() time.Duration // called before and after each request
}

func stalled[In, Out any](s Stalling, ctx context.Context, in In, opts []func(*dynamodb.Options), do func(context.Context, In, ...func(*dynamodb.Options)) (Out, error)) (Out, error) {
	time.Sleep(s.Pause())
	out, err := do(ctx, in, opts...)
	time.Sleep(s.Pause())
	return out, err
}

// GetItem calls the client's GetItem.
func (s Stalling) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return stalled(s, ctx, in, opts, s.Client.GetItem)
}

// PutItem calls the client's PutItem.
func (s Stalling) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return stalled(s, ctx, in, opts, s.Client.PutItem)
}

// UpdateItem calls the client's UpdateItem.
func (s Stalling) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return stalled(s, ctx, in, opts, s.Client.UpdateItem)
}

// DeleteItem calls the client's DeleteItem.
func (s Stalling) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return stalled(s, ctx, in, opts, s.Client.DeleteItem)
}

// Query calls the client's Query.
func (s Stalling) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return stalled(s, ctx, in, opts, s.Client.Query)
}
