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

// A service checks its settings before it connects.
func ExampleConfig_Validate() {
	settings := queuelock.Config{TTL: 10 * time.Second, HeartbeatInterval: 9 * time.Second}
	fmt.Println(settings.Validate("queuelock", nil))

	settings.HeartbeatInterval = 0
	fmt.Println(settings.Validate("queuelock", queuelock.Key{Entity: "payroll"}, queuelock.Permits(0)))
	// Output:
	// queuelock: HeartbeatInterval 9s must be less than four fifths of TTL 10s, so that a failed renewal can be repeated
	// queuelock: Permits(0): between 1 and 500 are possible
}

// The queue as it is in the table, with the holder, how far it has come, and the place of each waiter.
func ExampleViewer_Inspect() {
	ctx := context.Background()
	db := locktest.Memory()
	alice, closed := client(db, "alice", time.Minute)
	defer closed()
	bob, closed := client(db, "bob", time.Minute)
	defer closed()
	order := queuelock.Key{Entity: "order-7"}

	lock, err := alice.Acquire(ctx, order, waitpolicy.NoWait, queuelock.WithData([]byte("counting")))
	if err == nil {
		err = lock.SetData(ctx, []byte("packed, 2 of 5"))
	}
	check(err)
	served := make(chan error)
	go func() { served <- bob.Do(ctx, order, waitpolicy.Forever, ship) }()

	for {
		state, err := alice.Viewer().Inspect(ctx, order)
		check(err)
		if len(state.Waiting) == 0 {
			continue // bob is on his way
		}
		for _, h := range state.Serving {
			fmt.Printf("served: %s, ticket %s, %s\n", h.Owner, h.Ticket, h.Data)
		}
		for _, w := range state.Waiting {
			fmt.Printf("%d: %s, ticket %s\n", w.Position, w.Owner, w.Ticket)
		}
		break
	}
	check(errors.Join(lock.Release(ctx), <-served))
	// Output:
	// served: alice, ticket 1, packed, 2 of 5
	// 1: bob, ticket 2
	// shipping order-7 with ticket 2
}

// The process of a holder hangs, and its heartbeats continue. An operator evicts it, and the work ends with its context.
func ExampleOperator_Evict() {
	ctx := context.Background()
	locks, closed := client(locktest.Memory(), "worker-1", time.Minute)
	defer closed()
	key := queuelock.Key{Entity: "payroll"}
	evict := func() error {
		state, err := locks.Viewer().Inspect(ctx, key)
		if err != nil {
			return err
		}
		for _, holder := range state.Serving {
			fmt.Printf("evict %s, ticket %s\n", holder.Owner, holder.Ticket)
			err = errors.Join(err, locks.Operator().Evict(ctx, key, holder))
		}
		return err
	}

	err := locks.Do(ctx, key, waitpolicy.NoWait, func(ctx context.Context, lock *queuelock.Lock) error {
		if err := evict(); err != nil {
			return err
		}
		if err := lock.Extend(ctx); !errors.Is(err, queuelock.ErrLost) { // as the next heartbeat would find
			return err
		}
		<-ctx.Done() // ends with the lock
		return context.Cause(ctx)
	})
	if lost, ok := errors.AsType[*queuelock.LostError](err); ok {
		fmt.Printf("lost %s, ticket %s: %s\n", lost.Key.Entity, lost.Ticket, lost.Cause)
	}
	// Output:
	// evict worker-1, ticket 1
	// lost payroll, ticket 1: evicted
}

// A scan finds all queues whose entities begin with a prefix.
func ExampleViewer_Queues() {
	ctx := context.Background()
	locks, closed := client(locktest.Memory(), "worker-1", time.Minute)
	defer closed()
	for _, entity := range []string{"order-7", "invoice-1", "order-8"} {
		if _, err := locks.Acquire(ctx, queuelock.Key{Entity: entity}, waitpolicy.NoWait); err != nil {
			fmt.Println(err)
		}
	}

	for state, err := range locks.Viewer().Queues(ctx, queuelock.ScanConfig{Prefix: "order-"}) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s (%s): %d holder, %d waiters\n", state.Entity, state.Reason, len(state.Serving), len(state.Waiting))
	}
	// Unordered output:
	// order-7 (lock): 1 holder, 0 waiters
	// order-8 (lock): 1 holder, 0 waiters
}
