package queue_test

import (
	"fmt"
	"time"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Viewer.Inspect returns a State. A waiter knows its own ticket from Progress or
// Handle.
func ExampleState() {
	state := &queue.State{
		Entity: "order-7", Reason: "lock", Issued: ticket.FromUint64(14),
		Serving: []queue.Holder{
			{Ticket: ticket.FromUint64(12), Owner: "web-1", Age: 10 * time.Second, Remaining: 50 * time.Second},
		},
		Waiting: []queue.Waiter{
			{Position: 1, Ticket: ticket.FromUint64(13), Owner: "web-2", Remaining: 9 * time.Second},
			{Position: 2, Ticket: ticket.FromUint64(14), Owner: "web-3", Remaining: 8 * time.Second},
		},
		HoldTime: queue.HoldTime{Mean: 30 * time.Second, Deviation: 5 * time.Second},
	}

	if holder, ok := state.Holder(ticket.FromUint64(12)); ok {
		fmt.Printf("%s has held the lock for %v\n", holder.Owner, holder.Age)
	}
	if next, ok := state.Next(); ok {
		fmt.Println(next.Owner, "is next")
	}
	position := state.Position(ticket.FromUint64(14))
	fmt.Printf("ticket 14 is at position %d and waits for about %v\n", position, state.EstimatedWait(position))
	// Output:
	// web-1 has held the lock for 10s
	// web-2 is next
	// ticket 14 is at position 2 and waits for about 50s
}
