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

// A kitchen takes ten orders more than it cooks.
func ExampleMaxWaiters() {
	ctx := context.Background()
	locks, closed := client(locktest.Memory(), "kitchen", time.Minute)
	defer closed()
	kitchen := queuelock.Key{Entity: "kitchen"}
	lock, err := locks.Acquire(ctx, kitchen, waitpolicy.Forever)
	check(err)
	enqueue := func(most int) error {
		err := locks.Do(ctx, kitchen, waitpolicy.Forever, ship, queuelock.MaxWaiters(most))
		var full *queuelock.NotAcquiredError
		if errors.Is(err, queuelock.ErrQueueFull) && errors.As(err, &full) {
			fmt.Printf("come back later: at most %d may wait\n", full.MaxWaiters)
			return nil
		}
		return err
	}
	fmt.Println(enqueue(0))
	released := make(chan error)
	go func() { time.Sleep(10 * time.Millisecond); released <- lock.Release(ctx) }()
	fmt.Println(enqueue(10))
	check(<-released)
	// Output:
	// come back later: at most 0 may wait
	// <nil>
	// shipping kitchen with ticket 2
	// <nil>
}

// Of several deploys that wait, the last is made.
func ExampleSupersede() {
	ctx := context.Background()
	db := locktest.Memory()
	alice, closed := client(db, "alice", time.Minute)
	defer closed()
	bob, closed := client(db, "bob", time.Minute)
	defer closed()
	production := queuelock.Key{Entity: "production"}
	lock, err := alice.Acquire(ctx, production, waitpolicy.Forever)
	check(err)
	latest := queuelock.Supersede(queuelock.Group("web"))
	deploy := func(locks *queuelock.Client) error {
		err := locks.Do(ctx, production, waitpolicy.Forever, ship, latest)
		if errors.Is(err, queuelock.ErrSuperseded) {
			fmt.Println("a later deploy has come")
			return nil // that one will do
		}
		return err
	}
	older, newer := make(chan error), make(chan error)
	go func() { older <- deploy(bob) }()
	for queued := false; !queued; {
		state, err := alice.Viewer().Inspect(ctx, production)
		check(err)
		queued = len(state.Waiting) == 1
	}
	go func() { newer <- deploy(alice) }()
	check(errors.Join(<-older, lock.Release(ctx), <-newer))
	// Output:
	// a later deploy has come
	// shipping production with ticket 3
}
