package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// What the lock protects checks no token. So whoever comes after a holder that
// was lost waits for as long as a request of it may be on its way.
func ExampleLockDelay() {
	ctx := context.Background()
	db := newMemoryTable()
	key := queuelock.Key{Entity: "printer"}

	network := &cable{RoundTripper: db.Options().HTTPClient.(*http.Client).Transport}
	cutOff := dynamodb.New(db.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: network} })
	first, closed := client(cutOff, "worker-1", time.Second)
	defer closed()
	second, closed := client(db, "worker-2", time.Second)
	defer closed()

	lock, err := first.Acquire(ctx, key, waitpolicy.NoWait, queuelock.LockDelay(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	network.cut.Store(true)
	<-lock.Done()
	lost := time.Now()
	err = second.Do(ctx, key, waitpolicy.Forever, func(context.Context, *queuelock.Lock) error {
		fmt.Println("a second or more after the loss:", time.Since(lost) >= time.Second)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// a second or more after the loss: true
}

// Two at once would be worse than none: nobody is served after a holder that
// died, until a person has looked.
func ExampleFailClosed() {
	ctx := context.Background()
	db := newMemoryTable()
	key := queuelock.Key{Entity: "payroll"}

	network := &cable{RoundTripper: db.Options().HTTPClient.(*http.Client).Transport}
	cutOff := dynamodb.New(db.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: network} })
	first, closed := client(cutOff, "worker-1", time.Second)
	defer closed()
	second, closed := client(db, "worker-2", time.Second)
	defer closed()

	lock, err := first.Acquire(ctx, key, waitpolicy.NoWait, queuelock.FailClosed())
	if err != nil {
		fmt.Println(err)
		return
	}
	network.cut.Store(true) // worker-1 dies

	_, err = second.Acquire(ctx, key, waitpolicy.For(2*time.Second), queuelock.FailClosed())
	var busy *queuelock.NotAcquiredError
	if !errors.As(err, &busy) {
		fmt.Println(err)
		return
	}
	stuck := busy.Serving
	fmt.Printf("%s holds it with ticket %s, without a lease: %t\n", stuck.Owner, stuck.Ticket, stuck.FailClosed)

	// A person has made sure that worker-1 is dead.
	if err := second.Evict(ctx, key, stuck.Ticket); err != nil {
		fmt.Println(err)
		return
	}
	again, err := second.Acquire(ctx, key, waitpolicy.For(time.Minute), queuelock.FailClosed())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("then served:", lock.Ticket().Less(again.Ticket()))
	if err := again.Release(ctx); err != nil {
		fmt.Println(err)
	}

	network.cut.Store(false) // worker-1 was not dead after all, and learns of it
	fmt.Println(errors.Is(lock.Release(ctx), queuelock.ErrLost))
	// Output:
	// worker-1 holds it with ticket 1, without a lease: true
	// then served: true
	// true
}

// With the ticket that Inspect, or "queuelock status", shows.
func ExampleClient_Evict() {
	ctx := context.Background()
	locks, closed := client(newMemoryTable(), "worker-1", time.Minute)
	defer closed()
	key := queuelock.Key{Entity: "payroll"}

	lock, err := locks.Acquire(ctx, key, waitpolicy.NoWait)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = locks.Evict(ctx, key, lock.Ticket())
	fmt.Println("it has a lease:", errors.Is(err, queuelock.ErrLeased))
	if err := lock.Release(ctx); err != nil {
		fmt.Println(err)
	}
	err = locks.Evict(ctx, key, lock.Ticket())
	fmt.Println("it is gone:", errors.Is(err, queuelock.ErrNotServed))
	// Output:
	// it has a lease: true
	// it is gone: true
}
