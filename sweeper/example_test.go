package sweeper_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/sweeper"
)

// A process that lives long sweeps in the background until it shuts down.
func ExampleRun() {
	run := func(ctx context.Context, db *dynamodb.Client) error {
		locks, err := queuelock.New(db, "queuelock", queuelock.Config{})
		if err != nil {
			return err
		}
		return sweeper.Run(ctx, locks.Operator(), sweeper.Fixed(queuelock.Key{Entity: "hourly-report"}), sweeper.Config{
			Interval: 10 * time.Minute,
			OnSwept: func(queue string, swept sweeper.Swept) {
				slog.Info("swept", "queue", queue, "waiters", swept.Waiters, "holders", swept.Holders)
			},
			OnError: func(queue string, err error) { slog.Warn("sweep failed", "queue", queue, "error", err) },
		})
	}
	ctx, shutDown := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer shutDown()
	fmt.Println(run(ctx, newMemoryTable()))
	// Output:
	// context deadline exceeded
}

// A cron job sweeps once.
func ExampleOnce() {
	job := func(ctx context.Context, locks *queuelock.Client) error {
		swept, err := sweeper.Once(ctx, locks.Operator(), queuelock.Key{Entity: "order-7"}, queuelock.Key{Entity: "order-8"})
		slog.Info("swept", "waiters", swept.Waiters, "holders", swept.Holders)
		return err
	}
	locks, err := queuelock.New(newMemoryTable(), "queuelock", queuelock.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	fmt.Println(job(ctx, locks), locks.Close(ctx))
	// Output:
	// <nil> <nil>
}

// memory carries requests to a DynamoDB in memory. Tests use package
// queuelocktest; an example has no testing.TB to give it.
type memory struct{ engine http.Handler }

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	m.engine.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// newMemoryTable is a client of a DynamoDB in memory with the table "queuelock".
func newMemoryTable() *dynamodb.Client {
	db := dynamodb.New(dynamodb.Options{
		Region:       "local",
		BaseEndpoint: aws.String("http://dynamodb.invalid"),
		HTTPClient:   &http.Client{Transport: memory{embedded.New(embedded.Config{})}},
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	if err := queuelock.CreateTable(context.Background(), db, "queuelock", queuelock.Config{}); err != nil {
		panic(err)
	}
	return db
}
