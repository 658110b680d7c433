package otelqueuelock_test

import (
	"context"
	"log"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/otelqueuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Metrics, spans and the log of a client. The providers of OpenTelemetry are the global ones.
func Example() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	db := dynamodb.NewFromConfig(cfg, otelqueuelock.Instrument())
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{
		Observer: otelqueuelock.New(), Logger: slog.Default(),
	})
	if err != nil {
		log.Fatal(err)
	}
	key := queuelock.Key{Entity: "order-7"}
	if err := locks.Do(ctx, key, waitpolicy.For(time.Minute), ship, otelqueuelock.WithTrace(ctx)); err != nil {
		log.Fatal(err)
	}
}

func ship(context.Context, *queuelock.Lock) error { return nil }
