package faults_test

import (
	"context"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/queuelock/queuelock/queuelocktest"
)

// around returns a client whose calls are made by do, whatever becomes of their contexts: it sends the request, or not.
func around(table *queuelocktest.Table, name string, do func(operation string, in any, send func() error) error) *queuelocktest.Client {
	return table.Client(name, dynamodb.WithAPIOptions(func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("around", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
			err = do(awsmiddleware.GetOperationName(ctx), in.Parameters, func() (err error) {
				out, metadata, err = next.HandleInitialize(ctx, in)
				return err
			})
			return out, metadata, err
		}), middleware.After)
	}))
}
