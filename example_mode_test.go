package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Two read a report at the same time; who writes it is alone.
func ExampleShared() {
	ctx := context.Background()
	locks, closed := client(newMemoryTable(), "alice", time.Minute)
	defer closed()
	report := queuelock.Key{Entity: "report-7"}

	err := locks.Do(ctx, report, waitpolicy.NoWait, func(ctx context.Context, _ *queuelock.Lock) error {
		fmt.Println("alice reads")
		return locks.Do(ctx, report, waitpolicy.NoWait, func(ctx context.Context, _ *queuelock.Lock) error {
			fmt.Println("so does bob")
			_, err := locks.Acquire(ctx, report, waitpolicy.NoWait) // to write
			fmt.Println("busy for a writer:", errors.Is(err, queuelock.ErrNotAcquired))
			return nil
		}, queuelock.Shared())
	}, queuelock.Shared())
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// alice reads
	// so does bob
	// busy for a writer: true
}

// A report is written, and then read on while others may read it too.
func ExampleLock_Downgrade() {
	ctx := context.Background()
	locks, closed := client(newMemoryTable(), "alice", time.Minute)
	defer closed()
	report := queuelock.Key{Entity: "report-7"}

	err := locks.Do(ctx, report, waitpolicy.NoWait, func(ctx context.Context, lock *queuelock.Lock) error {
		fmt.Println("alice writes with ticket", lock.Ticket())
		if err := lock.Downgrade(ctx); err != nil {
			return err
		}
		return locks.Do(ctx, report, waitpolicy.NoWait, func(_ context.Context, other *queuelock.Lock) error {
			fmt.Println("alice and bob read; bob's ticket is", other.Ticket())
			return nil
		}, queuelock.Shared())
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// alice writes with ticket 1
	// alice and bob read; bob's ticket is 2
}

// At most two use the printer at the same time.
func ExamplePermits() {
	ctx := context.Background()
	locks, closed := client(newMemoryTable(), "alice", time.Minute)
	defer closed()
	printer := queuelock.Key{Entity: "printer-3"}

	for range 3 {
		lock, err := locks.Acquire(ctx, printer, waitpolicy.NoWait, queuelock.Permits(2))
		if err != nil {
			fmt.Println("busy:", errors.Is(err, queuelock.ErrNotAcquired))
			continue
		}
		fmt.Println("prints with ticket", lock.Ticket())
	}
	// Output:
	// prints with ticket 1
	// prints with ticket 2
	// busy: true
}
