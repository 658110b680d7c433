package optimistic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// outcome is the result of a request and its repetitions.
type outcome struct {
	err  error // of the last try
	lost bool  // a try was not answered: it may have been applied, or may yet be
}

// send makes a request for an item, up to Tries times if it fails transiently. once turns the retries of the SDK
// client off.
func (t *Table) send(ctx context.Context, item map[string]types.AttributeValue,
	request func(ctx context.Context, once func(*dynamodb.Options)) error) outcome {
	var o outcome
	pauses := retry.Between(requestPause, longestPause)
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			if o.err != nil {
				err = fmt.Errorf("%w: %w", err, o.err)
			}
			return outcome{err, o.lost}
		}
		bounded, cancel := context.WithTimeout(ctx, t.cfg.RequestTimeout)
		o.err = request(bounded, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
		over := bounded.Err() != nil
		cancel()
		again := transient(o.err)
		if o.err != nil && !answered(o.err) {
			o.lost = true
			if over && ctx.Err() == nil {
				// Not a deadline of the caller's, and it must not match one.
				o.err = fmt.Errorf("no answer within %v: %v", t.cfg.RequestTimeout, o.err)
			}
			again = again || over
		}
		if o.err == nil || !again || try == t.cfg.Tries {
			o.err = t.explained(ctx, item, o.err)
			return o
		}
		pauses.Pause(ctx)
	}
}

// explained returns the error of a request, or what is wrong with the table if that is its cause.
func (t *Table) explained(ctx context.Context, item map[string]types.AttributeValue, err error) error {
	home := &queue.Home{Table: t.name, Key: t.keyOf(item)}
	return cmp.Or(table.SchemaProblem(ctx, t.db, t.cfg.RequestTimeout, home, err), err)
}

// answered reports whether DynamoDB refused the request before it wrote: its status is 400.
func answered(err error) bool {
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return ok && response.HTTPStatusCode() == http.StatusBadRequest
}

var retryables = awsretry.IsErrorRetryables(awsretry.DefaultRetryables)

// transient reports whether a repetition can succeed.
func transient(err error) bool {
	_, conflict := errors.AsType[*types.TransactionConflictException](err)
	return conflict || retryables.IsErrorRetryable(err) == aws.TrueTernary
}

// Pauses double from these to a second. That of a request is short: the sooner it is repeated, the fewer have
// written since.
const (
	requestPause  = 10 * time.Millisecond
	conflictPause = 20 * time.Millisecond
	longestPause  = time.Second
)
