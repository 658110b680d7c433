package heartbeat_test

import (
	"context"
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
