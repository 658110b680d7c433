package heartbeat_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
)

// A lease of any kind, such as a row of a database with an expiry.
func ExampleStart() {
	sent := time.Now() // before the request that took the lease
	renewals := 0
	keeper := heartbeat.Start(context.Background(), sent, heartbeat.Config{
		TTL: time.Minute, Interval: 10 * time.Millisecond, Margin: time.Second,
	}, func(context.Context) error {
		if renewals++; renewals == 3 {
			return heartbeat.ErrEvicted // the row names another owner
		}
		return nil // the row's expiry was set
	})
	defer keeper.Stop()

	<-keeper.Lost()
	fmt.Println(keeper.Err())
	fmt.Println("renewals:", renewals)
	// Output:
	// lease lost (evicted): the lease was removed by another client
	// renewals: 3
}

// The next renewal is due before the deadline.
func ExampleKeeper_Due() {
	terms := heartbeat.Config{TTL: time.Minute, Interval: 30 * time.Second, Margin: time.Second}
	keeper := heartbeat.Start(context.Background(), time.Now(), terms, func(context.Context) error { return nil })
	defer keeper.Stop()
	fmt.Println(keeper.Due().Before(keeper.Deadline()))
	// Output: true
}

// Without an Interval only Extend renews the lease.
func ExampleKeeper_Extend() {
	ctx, sent := context.Background(), time.Now()
	keeper := heartbeat.Start(ctx, sent, heartbeat.Config{TTL: time.Minute, Margin: time.Second},
		func(context.Context) error { return nil })
	before := keeper.Deadline()
	fmt.Println("59 s after the request:", before.Sub(sent))
	if err := keeper.Extend(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("later:", keeper.Deadline().After(before), keeper.Check())
	keeper.Stop()
	fmt.Println("stopped:", errors.Is(keeper.Extend(ctx), heartbeat.ErrStopped))
	// Output:
	// 59 s after the request: 59s
	// later: true <nil>
	// stopped: true
}
