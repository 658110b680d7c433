package queuelock_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// cable is a network that can be cut.
type cable struct {
	http.RoundTripper
	cut atomic.Bool
}

func (c *cable) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.cut.Load() {
		return nil, errors.New("the cable is cut")
	}
	return c.RoundTripper.RoundTrip(r)
}

// Renewals fail, and the lock will be lost: there is a moment left to save what
// can be saved.
func ExampleOnDanger() {
	ctx := context.Background()
	db := newMemoryTable()
	network := &cable{RoundTripper: db.Options().HTTPClient.(*http.Client).Transport}
	db = dynamodb.New(db.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: network} })
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{
		Owner: "worker-1", TTL: 3 * time.Second, HeartbeatInterval: 500 * time.Millisecond, RequestTimeout: 500 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := locks.Close(ctx); err != nil {
			fmt.Println(err)
		}
	}()

	save := make(chan struct{})
	err = locks.Do(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.NoWait, func(ctx context.Context, lock *queuelock.Lock) error {
		network.cut.Store(true)
		defer network.cut.Store(false)
		for {
			select {
			case <-save:
				fmt.Println("saved; held:", lock.Err() == nil)
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(10 * time.Millisecond): // a piece of work
			}
		}
	}, queuelock.OnDanger(1500*time.Millisecond, func(*queuelock.Lock) { close(save) }))
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// saved; held: true
}

// Before a piece of work that takes longer than what may be left.
func ExampleLock_Extend() {
	ctx := context.Background()
	locks, closed := client(newMemoryTable(), "worker-1", 10*time.Minute)
	defer closed()

	work := func(ctx context.Context, lock *queuelock.Lock) error {
		const needed = 9 * time.Minute
		if lock.Remaining() < needed {
			if err := lock.Extend(ctx); err != nil {
				return err
			}
		}
		fmt.Println("there is time:", lock.Remaining() > needed)
		return nil
	}
	if err := locks.Do(ctx, queuelock.Key{Entity: "order-7"}, waitpolicy.NoWait, work); err != nil {
		fmt.Println(err)
	}
	// Output:
	// there is time: true
}
