// Package library has the clients of this library for the scenarios of a benchmark.
//
// The module bench/ runs each [Locker] in a worker process. A [Table] runs them in the
// process of the benchmark, with connections of their own, and on scratch keys that it
// deletes afterwards.
package library

import (
	"context"
	"errors"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Subject describes this library.
var Subject = benchmark.Subject{
	Name:   "queuelock",
	Title:  "this library",
	Config: "the defaults, except `TTL`",
}

// Locker is a client. Its keys begin with Prefix.
type Locker struct {
	Client *queuelock.Client
	Prefix string
}

var _ scenario.Locker = Locker{}

// Acquire waits for the lock until ctx ends.
func (l Locker) Acquire(ctx context.Context, key string) (scenario.Release, error) {
	return l.acquire(ctx, key, waitpolicy.Forever)
}

// Try acquires the lock if it is free. A nil Release says that it is not.
func (l Locker) Try(ctx context.Context, key string) (scenario.Release, error) {
	release, err := l.acquire(ctx, key, waitpolicy.NoWait)
	if errors.Is(err, queuelock.ErrNotAcquired) && ctx.Err() == nil {
		return nil, nil
	}
	return release, err
}

func (l Locker) acquire(ctx context.Context, key string, wait waitpolicy.Wait) (scenario.Release, error) {
	lock, err := l.Client.Acquire(ctx, queuelock.Key{Entity: l.Prefix + key}, wait)
	if err != nil {
		return nil, err
	}
	return lock.Release, nil
}
