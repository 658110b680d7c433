package subject

import (
	"context"
	"errors"
	"time"

	"cirello.io/dynamolock/v2"

	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// Dynamolock is cirello.io/dynamolock/v2.
var Dynamolock = Subject{
	Subject: benchmark.Subject{
		Name:   "dynamolock",
		Title:  "dynamolock 2.1.0",
		Config: "`WithLeaseDuration`, `WithHeartbeatPeriod` of a quarter of it as its documentation recommends, `WithRefreshPeriod` of 100 ms (its default is 1 s), and a wait without a practical limit",
	},
	Create: func(ctx context.Context, site Site) error { return createTable(ctx, site, "key", "") },
	Open: func(_ context.Context, site Site) (scenario.Locker, error) {
		client, err := dynamolock.New(connect(site.DynamoDB), site.Table,
			dynamolock.WithLeaseDuration(site.Lease), dynamolock.WithHeartbeatPeriod(site.Lease/4))
		return dynamo{client}, err
	},
}

type dynamo struct{ client *dynamolock.Client }

func (d dynamo) Acquire(ctx context.Context, key string) (scenario.Release, error) {
	return d.acquire(ctx, key, dynamolock.WithRefreshPeriod(Poll), dynamolock.WithAdditionalTimeToWaitForLock(24*time.Hour))
}

func (d dynamo) Try(ctx context.Context, key string) (scenario.Release, error) {
	release, err := d.acquire(ctx, key, dynamolock.FailIfLocked())
	if refused := (*dynamolock.LockNotGrantedError)(nil); errors.As(err, &refused) {
		return nil, nil
	}
	return release, err
}

func (d dynamo) acquire(ctx context.Context, key string, opts ...dynamolock.AcquireLockOption) (scenario.Release, error) {
	lock, err := d.client.AcquireLockWithContext(ctx, key, opts...)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		_, err := d.client.ReleaseLockWithContext(ctx, lock)
		return err
	}, nil
}
