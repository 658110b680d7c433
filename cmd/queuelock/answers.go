package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/queuelock/queuelock/internal/table"
)

// answers watches the requests of one database. It says when they fail for a while after some had succeeded, and once more
// when that is over.
type answers struct {
	renew func() // looks for credentials again

	mu    sync.Mutex
	tell  func(text string, over bool) // guarded by mu; nil: none
	began time.Time                    // guarded by mu; of the failures; zero: there is none
	told  bool                         // guarded by mu
}

// watch adds the watch to the requests of a client. Attempts of the SDK are one request.
func (a *answers) watch(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("queuelockAnswers", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			a.note(err)
			return out, metadata, err
		}), middleware.Before)
	})
}

// note notes how a request has ended.
func (a *answers) note(err error) {
	api, answered := errors.AsType[smithy.APIError](err)
	if answered && table.RenewableCode(api.ErrorCode()) {
		a.renew()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case errors.Is(err, context.Canceled): // the caller did not want to know
	case err == nil || answered && expected[api.ErrorCode()]:
		if a.told && a.tell != nil {
			a.tell(fmt.Sprintf("DynamoDB answers again, after %v", time.Since(a.began).Round(100*time.Millisecond)), true)
		}
		a.began, a.told = time.Time{}, false
	case a.began.IsZero():
		a.began = time.Now()
	case !a.told && a.tell != nil && time.Since(a.began) >= noticeAfter:
		a.told = true
		a.tell(clip(shortened(err).Error(), maxLine-len("queuelock: "))+"; the wait goes on", false)
	}
}

// expected are refusals that a lock expects.
var expected = map[string]bool{"ConditionalCheckFailedException": true, "TransactionCanceledException": true, "TransactionConflictException": true}

// listen lets a function hear of outages until stop is called.
func (a *answers) listen(tell func(text string, over bool)) (stop func()) {
	set := func(tell func(string, bool)) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.tell = tell
	}
	set(tell)
	return func() { set(nil) }
}
