package table

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/queuelock/queuelock/internal/random"
)

// LongestPause bounds the pause before the SDK repeats a request that failed otherwise
// than by a throttle. A client with more attempts than the SDK's default pauses for
// seconds, and a lock whose release had no answer would idle for that long.
const LongestPause = 150 * time.Millisecond

// pauses is the Retryer of one call: that of the caller's SDK client, with bounded pauses.
// Throttles keep its pauses, because the table needs the time, but no pause takes the end
// of the call: a request would not be answered any more, and the cause would be lost.
type pauses struct {
	aws.Retryer
	random func() float64
	end    time.Time   // of the call, less the time that an attempt needs
	failed func(error) // receives the error of each attempt but the last
}

// pausing returns the option for a call with that context and timeout. failed receives the
// error of each attempt but the last.
func pausing(ctx context.Context, timeout time.Duration, failed func(error)) Option {
	end, _ := ctx.Deadline()
	return func(o *dynamodb.Options) {
		if o.Retryer != nil {
			o.Retryer = &pauses{o.Retryer, func() float64 { return random.Float64(ctx) }, end.Add(-timeout / 8), failed}
		}
	}
}

// GetAttemptToken implements aws.RetryerV2. The mode adaptive waits here.
func (p *pauses) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	if v2, ok := p.Retryer.(aws.RetryerV2); ok {
		return v2.GetAttemptToken(ctx)
	}
	return p.GetInitialToken(), nil
}

// RetryDelay returns err if there is no time for another attempt. The call then ends with it.
func (p *pauses) RetryDelay(attempt int, err error) (time.Duration, error) {
	left := time.Until(p.end)
	if left <= 0 {
		return 0, err
	}
	d, failure := p.Retryer.RetryDelay(attempt, err)
	if failure != nil {
		return 0, failure
	}
	p.failed(err)
	if !throttled(err) {
		left = min(left, time.Duration(p.random()*float64(LongestPause)))
	}
	boundRetryAfter(err, left)
	return min(d, left), nil
}

// boundRetryAfter shortens the pause that an answer asks for. The SDK reads it in the
// answer after RetryDelay, and pauses for up to 5 s longer.
func boundRetryAfter(err error, most time.Duration) {
	const header = "X-Amz-Retry-After"
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || answer.Response == nil || answer.Response.Response == nil {
		return
	}
	asked, err := strconv.ParseInt(answer.Response.Header.Get(header), 10, 64)
	if err == nil && asked > most.Milliseconds() {
		answer.Response.Header.Set(header, strconv.FormatInt(most.Milliseconds(), 10))
	}
}

var throttles = retry.IsErrorThrottles(retry.DefaultThrottles)

// throttled reports whether the SDK pauses as after a throttle.
func throttled(err error) bool { return throttles.IsErrorThrottle(err) == aws.TrueTernary }
