package table_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queuelocktest"
)

// watched is an SDK client that keeps the context of its last call, and may panic in it.
type watched struct {
	*queuelocktest.Client
	panics bool
	last   *context.Context
}

func watch[In, Out any](w watched, ctx context.Context, in *In, opts []table.Option,
	send func(context.Context, *In, ...table.Option) (*Out, error)) (*Out, error) {
	if *w.last = ctx; w.panics {
		panic("out of order")
	}
	return send(ctx, in, opts...)
}

func (w watched) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...table.Option) (*dynamodb.GetItemOutput, error) {
	return watch(w, ctx, in, o, w.Client.GetItem)
}

func (w watched) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...table.Option) (*dynamodb.PutItemOutput, error) {
	return watch(w, ctx, in, o, w.Client.PutItem)
}

func (w watched) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...table.Option) (*dynamodb.UpdateItemOutput, error) {
	return watch(w, ctx, in, o, w.Client.UpdateItem)
}

func (w watched) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...table.Option) (*dynamodb.DeleteItemOutput, error) {
	return watch(w, ctx, in, o, w.Client.DeleteItem)
}

func (w watched) Query(ctx context.Context, in *dynamodb.QueryInput, o ...table.Option) (*dynamodb.QueryOutput, error) {
	return watch(w, ctx, in, o, w.Client.Query)
}

func (w watched) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...table.Option) (*dynamodb.ScanOutput, error) {
	return watch(w, ctx, in, o, w.Client.Scan)
}

func (w watched) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...table.Option) (*dynamodb.TransactWriteItemsOutput, error) {
	return watch(w, ctx, in, o, w.Client.TransactWriteItems)
}

func (w watched) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, o ...table.Option) (*dynamodb.TransactGetItemsOutput, error) {
	return watch(w, ctx, in, o, w.Client.TransactGetItems)
}

// TestContextsEnd checks that the context of a request ends with it: after an answer, after a failure, and if the SDK client
// panics.
func TestContextsEnd(t *testing.T) {
	for name, with := range map[string]struct {
		fault  *queuelocktest.Fault
		panics bool
	}{"answered": {}, "failed": {fault: new(queuelocktest.Refuse(queuelocktest.AccessDenied))}, "panicked": {panics: true}} {
		bubble(t, name, nil, func(t *testing.T, tb *queuelocktest.Table) {
			var last context.Context
			q := queueOn(watched{tb.Client("c"), with.panics, &last})
			if with.fault != nil {
				tb.Inject(*with.fault)
			}
			all := calls(q)
			all["Scan"] = func(ctx context.Context) error {
				_, _, _, err := q.Scan(ctx, table.Page{Segments: 1})
				return err
			}
			all["TransactGetItems"] = func(ctx context.Context) error {
				_, err := q.TransactGet(ctx, []types.TransactGetItem{{Get: &types.Get{TableName: aws.String(tb.Name()), Key: q.RecordKey()}}})
				return err
			}
			all["TransactWriteItems"] = func(ctx context.Context) error {
				return q.Transact(ctx, "token", []types.TransactWriteItem{{Delete: &types.Delete{TableName: aws.String(tb.Name()), Key: q.RecordKey()}}})
			}
			all["Date"] = table.NewStore(watched{tb.Client("d"), with.panics, &last}, layout, timeout).Queue("e", "lock", nil).Date
			for operation, call := range all {
				last = nil
				func() {
					defer func() {
						if (recover() != nil) != with.panics {
							t.Errorf("%s: it panicked: %t", operation, !with.panics)
						}
					}()
					_ = call(t.Context())
				}()
				if last == nil || last.Err() == nil {
					t.Errorf("%s: its context has not ended", operation)
				}
			}
		})
	}
}
