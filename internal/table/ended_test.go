package table_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

// TestContextsEnd checks that the context of a request ends with it: after an answer, after a failure, and if the SDK client
// panics.
func TestContextsEnd(t *testing.T) {
	for name, with := range map[string]struct {
		fault  *queuelocktest.Fault
		panics bool
	}{"answered": {}, "failed": {fault: new(queuelocktest.Refuse(queuelocktest.AccessDenied))}, "panicked": {panics: true}} {
		locktest.InTable(t, name, func(t *testing.T, tb *queuelocktest.Table) {
			var last context.Context
			watch := func(
				ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
			) (middleware.InitializeOutput, middleware.Metadata, error) {
				if last = ctx; with.panics {
					panic("out of order")
				}
				return next.HandleInitialize(ctx, in)
			}
			watched := func(o *dynamodb.Options) {
				o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
					return s.Initialize.Add(middleware.InitializeMiddlewareFunc("watch", watch), middleware.Before)
				})
			}
			q := queueOn(tb.Client("c", watched))
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
			all["Date"] = queueOn(tb.Client("d", watched)).Date
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
