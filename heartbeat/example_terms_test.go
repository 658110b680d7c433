package heartbeat_test

import (
	"fmt"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/queue"
)

// An owner's lease, as it and another client see it. Without dates of the database the other client ends it by observation:
// its beat has not changed for its whole length. The owner's own deadline is earlier.
func ExampleObserver() {
	sent, clock := time.Now(), new(heartbeat.Clock)
	terms := heartbeat.Terms{TTL: time.Minute, Margin: heartbeat.Margin(time.Minute)}
	lease, _ := terms.Begin(clock, sent)
	fmt.Println("deadline:", terms.Deadline(sent).Sub(sent))

	observer := heartbeat.NewObserver(clock, false)
	read := sent.Add(100 * time.Millisecond)
	fmt.Println("left:", observer.See("order-7", lease, read))
	fmt.Println("left:", observer.See("order-7", lease, read.Add(45*time.Second)))

	renewals := heartbeat.NewRenewals(terms, clock, lease)
	lease.Beat, lease.Until = lease.Beat+1, renewals.Next(sent.Add(46*time.Second))
	fmt.Println("left:", observer.See("order-7", lease, read.Add(47*time.Second)))
	fmt.Println("left:", observer.See("order-7", lease, read.Add(107*time.Second)))
	fmt.Println("length:", lease.Length(), "endless:", queue.Lease{FailClosed: true}.Endless())
	// Output:
	// deadline: 57.94s
	// left: 1m0s
	// left: 15s
	// left: 1m0s
	// left: 0s
	// length: 1m0s endless: true
}
