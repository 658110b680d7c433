package subject

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/queuelock/queuelock/bench/internal/engine"
	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// Redis is github.com/redis/rueidis/rueidislock. A lock is a key that expires, and the client that sets it first has it.
var Redis = Subject{
	Subject: benchmark.Subject{
		Name:   "redis",
		Title:  "Redis (rueidislock 1.0.79)",
		Config: "one server of Redis, which writes nothing to its disk; `KeyMajority` of 1 and `NoLoopTracking`, as its documentation recommends for one server, `KeyValidity`, and `TryNextAfter` of 1 s (its default, 20 ms, is too short on a busy machine); it has no order and no fencing token, and a waiter can miss a release, which fails a measurement",
	},
	Server: &Server{
		Server: engine.Redis, Name: "Redis",
		Bare: func(_ context.Context, site Site) (func(context.Context) error, error) {
			client, err := rueidis.NewClient(redisOptions(site))
			return func(ctx context.Context) error {
				return client.Do(ctx, client.B().Exists().Key("a").Build()).Error()
			}, err
		},
	},
	Open: func(_ context.Context, site Site) (scenario.Locker, error) {
		locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: redisOptions(site), KeyValidity: site.Lease, KeyMajority: 1, NoLoopTracking: true,
			// A waiter gives up an attempt that takes longer, and may not learn of the next release. It may miss a
			// release in any case: an attempt that fails can drop what its goroutine waits on before that is counted.
			TryNextAfter: time.Second,
		})
		return redis{locker}, err
	},
}

func redisOptions(site Site) rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: []string{site.Server}}
}

type redis struct{ locker rueidislock.Locker }

func (r redis) Acquire(ctx context.Context, key string) (scenario.Release, error) {
	return r.acquire(ctx, key, r.locker.WithContext)
}

func (r redis) Try(ctx context.Context, key string) (scenario.Release, error) {
	release, err := r.acquire(ctx, key, r.locker.TryWithContext)
	if errors.Is(err, rueidislock.ErrNotLocked) {
		return nil, nil
	}
	return release, err
}

func (r redis) acquire(ctx context.Context, key string,
	lock func(context.Context, string) (context.Context, context.CancelFunc, error)) (scenario.Release, error) {
	held, release, err := lock(ctx, key)
	if err != nil {
		return nil, err
	}
	return func(context.Context) error {
		err := held.Err() // the lock was lost
		release()         // it waits for the server
		return err
	}, nil
}
