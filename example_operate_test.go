package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/sweeper"
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

func ExampleCreateTable() {
	ctx, db := context.Background(), newMemory()

	createTable := func() error {
		if err := queuelock.CreateTable(ctx, db, "queuelock", queuelock.Config{}); err != nil {
			return err
		}
		fmt.Println("the table is ready")
		return nil
	}
	if err := errors.Join(createTable(), createTable()); err != nil { // calling it again is safe
		fmt.Println(err)
	}
	// Output:
	// the table is ready
	// the table is ready
}

func ExampleViewer_Inspect() {
	ctx := context.Background()
	db := newMemoryTable()
	alice, closed := client(db, "alice", time.Minute)
	defer closed()
	bob, closed := client(db, "bob", time.Minute)
	defer closed()
	order := queuelock.Key{Entity: "order-7"}

	lock, err := alice.Acquire(ctx, order, waitpolicy.NoWait)
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error)
	go func() { served <- bob.Do(ctx, order, waitpolicy.Forever, ship) }()

	for {
		state, err := alice.Viewer().Inspect(ctx, order)
		if err != nil {
			fmt.Println(err)
			return
		}
		if len(state.Waiting) == 0 {
			continue // bob is on his way
		}
		for _, h := range state.Serving {
			fmt.Printf("served: %s, ticket %s\n", h.Owner, h.Ticket)
		}
		for _, w := range state.Waiting {
			fmt.Printf("%d: %s, ticket %s\n", w.Position, w.Owner, w.Ticket)
		}
		break
	}
	if err := errors.Join(lock.Release(ctx), <-served); err != nil {
		fmt.Println(err)
	}
	// Output:
	// served: alice, ticket 1
	// 1: bob, ticket 2
	// shipping order-7 with ticket 2
}

func ExampleClient_IsLocked() {
	ctx := context.Background()
	db := newMemoryTable()
	alice, closed := client(db, "alice", time.Minute)
	defer closed()
	bob, closed := client(db, "bob", time.Minute)
	defer closed()
	order := queuelock.Key{Entity: "order-7"}

	look := func() error {
		locked, err := bob.IsLocked(ctx, order)
		if err != nil {
			return err
		}
		fmt.Println("locked:", locked)
		return nil
	}
	err := alice.Do(ctx, order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error { return look() })
	if err := errors.Join(err, look()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// locked: true
	// locked: false
}

func ExampleOperator_Evict() {
	ctx := context.Background()
	locks, closed := client(newMemoryTable(), "worker-1", time.Minute)
	defer closed()
	key := queuelock.Key{Entity: "payroll"}
	lock, err := locks.Acquire(ctx, key, waitpolicy.NoWait)
	if err != nil {
		fmt.Println(err)
		return
	}

	state, err := locks.Viewer().Inspect(ctx, key)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, holder := range state.Serving {
		fmt.Printf("evict %s, ticket %s\n", holder.Owner, holder.Ticket)
		if err := locks.Operator().Evict(ctx, key, holder); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("lost:", errors.Is(lock.Extend(ctx), queuelock.ErrLost)) // as the next heartbeat would report
	// Output:
	// evict worker-1, ticket 1
	// lost: true
}

func ExampleOperator_Evict_renewed() {
	ctx := context.Background()
	locks, closed := client(newMemoryTable(), "worker-1", time.Minute)
	defer closed()
	key := queuelock.Key{Entity: "payroll"}
	lock, err := locks.Acquire(ctx, key, waitpolicy.NoWait)
	if err != nil {
		fmt.Println(err)
		return
	}
	state, err := locks.Viewer().Inspect(ctx, key)
	if err := errors.Join(err, lock.Extend(ctx)); err != nil {
		fmt.Println(err)
		return
	}

	err = locks.Operator().Evict(ctx, key, state.Serving[0])
	if refused, ok := errors.AsType[*sweeper.EvictError](err); ok {
		now, renewed := refused.Renewed()
		fmt.Printf("renewed: %t, with beat %d\n", renewed, now.Beat)
	}
	// Output:
	// renewed: true, with beat 1
}

func ExampleViewer_Queues() {
	ctx := context.Background()
	locks, closed := client(newMemoryTable(), "worker-1", time.Minute)
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

func ExampleOperator_Sweep() {
	ctx := context.Background()
	locks, closed := client(newMemoryTable(), "worker-1", time.Minute)
	defer closed()
	order := queuelock.Key{Entity: "order-7"}

	err := locks.Do(ctx, order, waitpolicy.NoWait, func(ctx context.Context, lock *queuelock.Lock) error {
		swept, err := locks.Operator().Sweep(ctx, order)
		fmt.Printf("removed: %d holders, %d waiters\n", swept.Holders, swept.Waiters)
		return errors.Join(err, lock.Err())
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// removed: 0 holders, 0 waiters
}
