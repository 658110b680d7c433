package sweeper_test

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/sweeper"
)

// A process that lives long sweeps in the background until it shuts down.
func ExampleRun() {
	run := func(ctx context.Context, db *dynamodb.Client) error {
		locks, err := queuelock.New(db, "queuelock", queuelock.Config{})
		if err != nil {
			return err
		}
		return sweeper.Run(ctx, locks, sweeper.Fixed(queuelock.Key{Entity: "hourly-report"}), sweeper.Config{
			Interval: 10 * time.Minute,
			OnSwept: func(key queuelock.Key, swept queuelock.Swept) {
				slog.Info("swept", "key", key, "waiters", swept.Waiters, "holders", swept.Holders)
			},
			OnError: func(key queuelock.Key, err error) { slog.Warn("sweep failed", "key", key, "error", err) },
		})
	}
	_ = run
}

// A cron job sweeps once.
func ExampleOnce() {
	job := func(ctx context.Context, locks *queuelock.Client) error {
		swept, err := sweeper.Once(ctx, locks, queuelock.Key{Entity: "order-7"}, queuelock.Key{Entity: "order-8"})
		slog.Info("swept", "waiters", swept.Waiters, "holders", swept.Holders)
		return err
	}
	_ = job
}
