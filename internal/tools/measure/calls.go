package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/waitpolicy"
)

// recorder is an HTTP client that records the longest chain of calls from
// Acquire to the SDK among the requests that it answers.
type recorder struct {
	engine  http.Handler
	longest int
}

func (r *recorder) Do(request *http.Request) (*http.Response, error) {
	callers := make([]uintptr, 256)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	inSDK, calls := false, 0
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		inSDK = inSDK || strings.HasPrefix(frame.Function, "github.com/aws/")
		if strings.HasSuffix(frame.Function, "queuelock.(*Client).Acquire") {
			r.longest = max(r.longest, calls)
			break
		}
		if inSDK && strings.HasPrefix(frame.Function, "github.com/queuelock/queuelock") {
			calls++
		}
	}
	answer := httptest.NewRecorder()
	r.engine.ServeHTTP(answer, request)
	return answer.Result(), nil
}

// longestCall acquires an idle lock and returns the number of functions of
// this module between Acquire and the SDK.
func longestCall(ctx context.Context) (int, error) {
	r := &recorder{engine: embedded.New(embedded.Config{})}
	db := dynamodb.New(dynamodb.Options{
		Region:       "local",
		BaseEndpoint: aws.String("http://embedded"),
		HTTPClient:   r,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "measure", SecretAccessKey: "measure"}, nil
		}),
	})
	if err := queuelock.CreateTable(ctx, db, "locks", queuelock.Config{}); err != nil {
		return 0, err
	}
	client, err := queuelock.New(db, "locks", queuelock.Config{})
	if err != nil {
		return 0, err
	}
	defer client.Close(ctx)
	lock, err := client.Acquire(ctx, queuelock.Key{Entity: "measured"}, waitpolicy.NoWait)
	if err != nil {
		return 0, err
	}
	return r.longest, lock.Release(ctx)
}
