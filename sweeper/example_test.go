package sweeper_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
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
	fmt.Println(run(ctx, locktest.Memory()))
	// Output:
	// context deadline exceeded
}

// A cron job sweeps once.
func ExampleOnce() {
	ctx := context.Background()
	locks, err := queuelock.New(locktest.Memory(), "queuelock", queuelock.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	swept, err := sweeper.Once(ctx, locks.Operator(), queuelock.Key{Entity: "order-7"}, queuelock.Key{Entity: "order-8"})
	fmt.Println(swept.Waiters, swept.Holders, err, locks.Close(ctx))
	// Output:
	// 0 0 <nil> <nil>
}
