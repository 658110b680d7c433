package main

import (
	"context"
	"errors"
	"time"

	"cirello.io/dynamolock/v2"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

var errFormerLost = errors.New("the lock of dynamolock is about to expire")

// both runs work while it holds the entity's lock of queuelock and that of dynamolock,
// always taken in this order. The context of work ends when either is lost.
func both(ctx context.Context, locks *queuelock.Client, former *dynamolock.Client, entity string,
	work func(context.Context, *queuelock.Lock) error) error {
	key := queuelock.Key{Entity: entity}
	return locks.Do(ctx, key, waitpolicy.Forever, func(ctx context.Context, lock *queuelock.Lock) (err error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		held, err := former.AcquireLockWithContext(ctx, entity,
			dynamolock.WithAdditionalTimeToWaitForLock(24*time.Hour), // ctx ends the wait
			dynamolock.WithSessionMonitor(9*time.Second, func() { cancel(errFormerLost) }))
		if err != nil {
			return err
		}
		defer func() {
			ending, end := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer end()
			_, failed := former.ReleaseLockWithContext(ending, held)
			err = errors.Join(err, failed)
		}()
		return work(ctx, lock)
	})
}

// program takes turns as its deployment does: with the former lock alone (0), with both
// (1), or with the new lock alone (2).
type program struct {
	deployment int
	former     *dynamolock.Client // of deployments 0 and 1
	locks      *queuelock.Client  // of deployments 1 and 2
}

// turn runs work under the locks of the entity.
func (p program) turn(ctx context.Context, entity string, work func(context.Context) error) error {
	underNew := func(ctx context.Context, _ *queuelock.Lock) error { return work(ctx) }
	switch p.deployment {
	case 0:
		return formerAlone(ctx, p.former, entity, work)
	case 1:
		return both(ctx, p.locks, p.former, entity, underNew)
	}
	return p.locks.Do(ctx, queuelock.Key{Entity: entity}, waitpolicy.Forever, underNew)
}

// formerAlone is the program before the migration.
func formerAlone(ctx context.Context, former *dynamolock.Client, entity string, work func(context.Context) error) error {
	held, err := former.AcquireLockWithContext(ctx, entity, dynamolock.WithAdditionalTimeToWaitForLock(24*time.Hour))
	if err != nil {
		return err
	}
	err = work(ctx)
	_, failed := former.ReleaseLock(held)
	return errors.Join(err, failed)
}
