package locktest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/queuelocktest"
)

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
