package version

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/queuelock/queuelock/internal/random"
)

// outcome is the result of a request and its repetitions.
type outcome struct {
	err error // of the last try
	// lost says that a try was not answered: it may have been applied, or may yet be.
	lost bool
}

// refused returns DynamoDB's answer that the last try's condition was false.
func (o outcome) refused() (*types.ConditionalCheckFailedException, bool) {
	var refused *types.ConditionalCheckFailedException
	return refused, errors.As(o.err, &refused)
}

// send makes a request, up to Tries times if it fails transiently, without the retries
// of the SDK client.
func (t *Table) send(ctx context.Context, request func(context.Context, ...func(*dynamodb.Options)) error) outcome {
	var o outcome
	for try := 1; ; try++ {
		switch err := ctx.Err(); {
		case err != nil && o.err != nil:
			return outcome{fmt.Errorf("%w: %w", err, o.err), o.lost}
		case err != nil:
			return outcome{err: err}
		}
		bounded, cancel := context.WithTimeout(ctx, t.cfg.RequestTimeout)
		o.err = request(bounded, once)
		over := bounded.Err() != nil
		cancel()
		again := passing(o.err)
		if o.err != nil && !answered(o.err) {
			o.lost = true
			if over && ctx.Err() == nil {
				// Not a deadline of the caller's, and it must not match one.
				o.err = fmt.Errorf("no answer within %v: %v", t.cfg.RequestTimeout, o.err)
			}
			again = again || over
		}
		if o.err == nil || !again || try == t.cfg.Tries {
			return o
		}
		pause(ctx, delay(try, requestPause))
	}
}

func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// answered reports whether DynamoDB refused the request before it wrote: its status is
// 400.
func answered(err error) bool {
	var response *smithyhttp.ResponseError
	return errors.As(err, &response) && response.HTTPStatusCode() == http.StatusBadRequest
}

var retryables = retry.IsErrorRetryables(retry.DefaultRetryables)

// passing reports whether a repetition can succeed.
func passing(err error) bool {
	var conflict *types.TransactionConflictException
	return errors.As(err, &conflict) || retryables.IsErrorRetryable(err) == aws.TrueTernary
}

// Pauses double from these to a second. That before the repetition of a request
// is short: the sooner it is sent, the fewer have written since.
const (
	requestPause  = 10 * time.Millisecond
	conflictPause = 20 * time.Millisecond
	longestPause  = time.Second
)

// delay returns the pause after the nth failure.
func delay(n int, shortest time.Duration) time.Duration {
	return min(shortest<<min(n-1, 10), longestPause)
}

// pause waits for d, shortened or lengthened at random by up to a half, or until ctx
// ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(random.Around(ctx, d))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
