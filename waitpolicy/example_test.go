package waitpolicy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/waitpolicy"
)

// memory carries requests to a DynamoDB in memory. Tests use package
// queuelocktest; an example has no testing.TB to give it.
type memory struct{ engine http.Handler }

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	m.engine.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// A report that some process writes every hour: if another one is at it, three
// attempts are enough.
func ExampleAttempts() {
	ctx := context.Background()
	db := dynamodb.New(dynamodb.Options{
		Region:       "local",
		BaseEndpoint: aws.String("http://dynamodb.invalid"),
		HTTPClient:   &http.Client{Transport: memory{embedded.New(embedded.Config{})}},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
	if err := queuelock.CreateTable(ctx, db, "queuelock", queuelock.Config{}); err != nil {
		fmt.Println(err)
		return
	}
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	report := queuelock.Key{Entity: "hourly-report"}

	write := func(context.Context, *queuelock.Lock) error {
		fmt.Println("writing the report")
		return nil
	}
	err = locks.Do(ctx, report, waitpolicy.NoWait, func(ctx context.Context, _ *queuelock.Lock) error {
		// Meanwhile, elsewhere:
		err := locks.Do(ctx, report, waitpolicy.Attempts(3, 20*time.Millisecond), write)
		if errors.Is(err, queuelock.ErrNotAcquired) {
			fmt.Println("another worker writes it")
			return nil
		}
		return err
	})
	if err = errors.Join(err, locks.Do(ctx, report, waitpolicy.Attempts(3, 20*time.Millisecond), write), locks.Close(ctx)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// another worker writes it
	// writing the report
}
