package subject

import (
	"context"
	"errors"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Queuelock is this library.
var Queuelock = Subject{
	Name:   "queuelock",
	Title:  "this library",
	Config: "the defaults, except `TTL`",
	Create: func(ctx context.Context, site Site) error {
		return queuelock.CreateTable(ctx, connect(site.DynamoDB), site.Table, queuelock.Config{})
	},
	Open: func(_ context.Context, site Site) (Locker, error) {
		client, err := queuelock.New(connect(site.DynamoDB), site.Table, queuelock.Config{TTL: site.Lease})
		return ours{client}, err
	},
}

type ours struct{ client *queuelock.Client }

func (o ours) Acquire(ctx context.Context, key string) (Release, error) {
	return o.acquire(ctx, key, waitpolicy.Forever)
}

func (o ours) Try(ctx context.Context, key string) (Release, error) {
	release, err := o.acquire(ctx, key, waitpolicy.NoWait)
	if errors.Is(err, queuelock.ErrNotAcquired) && ctx.Err() == nil {
		return nil, nil
	}
	return release, err
}

func (o ours) acquire(ctx context.Context, key string, wait waitpolicy.Wait) (Release, error) {
	lock, err := o.client.Acquire(ctx, queuelock.Key{Entity: key}, wait)
	if err != nil {
		return nil, err
	}
	return lock.Release, nil
}
