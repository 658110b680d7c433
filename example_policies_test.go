package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// A deploy keeps its environment for ten minutes, so that its effects show before the next one begins.
func ExampleHoldAtLeast() {
	ctx := context.Background()
	locks, closed := client(locktest.Memory(), "deployer", time.Minute)
	defer closed()
	prod := queuelock.Key{Entity: "deploy/prod"}

	deploy := func() error {
		return locks.Do(ctx, prod, waitpolicy.NoWait, ship, queuelock.HoldAtLeast(10*time.Minute))
	}
	fmt.Println(deploy())
	again, ok := errors.AsType[*queuelock.NotAcquiredError](deploy())
	fmt.Println(ok, again.Serving.Closed, time.Until(again.NotBefore) > 9*time.Minute)
	// Output:
	// shipping deploy/prod with ticket 1
	// <nil>
	// true true true
}

// Each host of a fleet runs this once an hour, and one of them does the work. Those that come too early are not
// acquired, which is no failure.
func ExampleEvery() {
	ctx := context.Background()
	locks, closed := client(locktest.Memory(), "cron", time.Minute)
	defer closed()
	report := queuelock.Key{Entity: "report", Reason: "hourly"}

	tick := func() (ran bool, err error) {
		err = locks.Do(ctx, report, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error {
			ran = true
			return nil
		}, queuelock.Every(55*time.Minute)) // less than the hour: ticks are not exact
		if errors.Is(err, queuelock.ErrNotAcquired) {
			err = nil
		}
		return ran, err
	}
	for range 3 {
		fmt.Println(tick())
	}
	// Output:
	// true <nil>
	// false <nil>
	// false <nil>
}

// A long job ends when it is asked to give way. Do does not end by itself: the function decides.
func ExampleLock_Revoked() {
	ctx := context.Background()
	db := locktest.Memory()
	locks, closed := client(db, "trainer", time.Second)
	defer closed()
	operator, closed := client(db, "on-call", time.Minute)
	defer closed()
	gpu := queuelock.Key{Entity: "gpu"}

	steps := 0
	train := func(ctx context.Context, lock *queuelock.Lock) error {
		for {
			select {
			case <-lock.Revoked():
				if r, ok := lock.Revocation(); ok {
					fmt.Printf("asked by %s: %s\n", r.By, r.Why)
				}
				return nil // and the lock is released
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
				steps++
			}
		}
	}
	ask := func() error {
		state, err := operator.Viewer().Inspect(ctx, gpu)
		for err == nil && len(state.Serving) == 0 {
			time.Sleep(time.Millisecond)
			state, err = operator.Viewer().Inspect(ctx, gpu)
		}
		if err != nil {
			return err
		}
		return operator.Operator().Revoke(ctx, gpu, state.Serving[0], "a hotfix waits", 5*time.Minute)
	}
	done := make(chan error)
	go func() { done <- locks.Do(ctx, gpu, waitpolicy.NoWait, train) }()
	fmt.Println(ask())
	fmt.Println(<-done, steps > 0)
	// Output:
	// <nil>
	// asked by on-call: a hotfix waits
	// <nil> true
}
