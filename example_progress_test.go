package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Somebody who waits is told where he stands.
func ExampleOnProgress() {
	ctx := context.Background()
	db := newMemoryTable()
	alice, closed := client(db, "alice", time.Minute)
	defer closed()
	bob, closed := client(db, "bob", time.Minute)
	defer closed()
	order := queuelock.Key{Entity: "order-7"}

	waits, served := make(chan struct{}), make(chan error)
	err := alice.Do(ctx, order, waitpolicy.NoWait, func(context.Context, *queuelock.Lock) error {
		go func() {
			served <- bob.Do(ctx, order, waitpolicy.Forever, ship, queuelock.OnProgress(func(p queuelock.Progress) {
				fmt.Printf("place %d, ticket %s; %s is served\n", p.Position, p.Ticket, p.Serving.Owner)
				close(waits)
			}))
		}()
		<-waits
		return nil
	})
	if err := errors.Join(err, <-served); err != nil {
		fmt.Println(err)
	}
	// Output:
	// place 1, ticket 2; alice is served
	// shipping order-7 with ticket 2
}
