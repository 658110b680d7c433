package queuelock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// scoped is a client of a scope. closed must be called in the end.
func scoped(db queuelock.DynamoDB, scope queuelock.Scope) (locks *queuelock.Client, closed func()) {
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{Scope: scope})
	if err != nil {
		panic(err)
	}
	return locks, func() {
		if err := locks.Close(context.Background()); err != nil {
			panic(err)
		}
	}
}

// transfer locks both accounts with one ticket.
func transfer(ctx context.Context, locks *queuelock.Client, from, to string) (err error) {
	both, err := locks.AcquireAll(ctx, []queuelock.Key{{Entity: from}, {Entity: to}}, waitpolicy.Forever)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, both.Release(ctx)) }()
	return move(both.Context(), both, from, to)
}

// move is what the locks protect.
func move(ctx context.Context, both *queuelock.Locks, from, to string) error {
	t, ok := both.Ticket()
	for _, lock := range both.All() {
		fmt.Printf("%s: token %s\n", lock.Key().Entity, lock.Ticket())
	}
	fmt.Printf("%s to %s with ticket %s: %v\n", from, to, t, ok)
	return ctx.Err()
}

// A transfer locks both accounts with one ticket, whichever is named first: so
// does the transfer in the other direction, and neither waits for the other for
// ever.
func ExampleClient_AcquireAll() {
	ctx := context.Background()
	db := newMemoryTable()
	locks, closed := scoped(db, queuelock.ScopeShared)
	defer closed()

	if err := transfer(ctx, locks, "account-1", "account-2"); err != nil {
		fmt.Println(err)
	}
	if err := transfer(ctx, locks, "account-2", "account-1"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// account-1: token 1
	// account-2: token 1
	// account-1 to account-2 with ticket 1: true
	// account-2: token 2
	// account-1: token 2
	// account-2 to account-1 with ticket 2: true
}

// Several reasons to lock one entity, with the entity's own ticket.
func ExampleScope() {
	ctx := context.Background()
	db := newMemoryTable()
	locks, closed := scoped(db, queuelock.ScopeEntity)
	defer closed()

	for _, reason := range []string{"stock", "price", "stock"} {
		err := locks.Do(ctx, queuelock.Key{Entity: "article-7", Reason: reason}, waitpolicy.Forever, func(_ context.Context, lock *queuelock.Lock) error {
			fmt.Printf("%s with ticket %s\n", lock.Key().Reason, lock.Ticket())
			return nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// stock with ticket 1
	// price with ticket 2
	// stock with ticket 3
}
