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

// A waiter's place, and what it means in time.
func ExampleState_Position() {
	mine := ticket.FromUint64(9)
	state := &queue.State{
		Waiting:  []queue.Waiter{{Position: 1, Ticket: ticket.FromUint64(8)}, {Position: 2, Ticket: mine}},
		HoldTime: queue.HoldTime{Mean: 30 * time.Second},
	}
	fmt.Println(state.Position(mine), state.EstimatedWait(2) > state.EstimatedWait(1))
	fmt.Println(state.Position(ticket.FromUint64(7)))
	// Output:
	// 2 true
	// 0
}

// Callers of one client wait and hold as a block of tickets.
func ExampleState_Waiters() {
	state := &queue.State{
		Serving: []queue.Holder{{Ticket: ticket.FromUint64(12), Turns: 7, Reached: ticket.FromUint64(14)}},
		Waiting: []queue.Waiter{{Ticket: ticket.FromUint64(19), Turns: 5, Remaining: time.Second}, {Ticket: ticket.FromUint64(24), Remaining: time.Second}},
	}
	holder, next := state.Serving[0], state.Waiting[0]
	fmt.Println("turn", holder.Turn(), "of", holder.Ticket, "to", holder.Last(), "and", holder.Follow(), "follow")
	fmt.Println(state.Waiters(), "wait, the first", next.Turns, "with tickets", next.Ticket, "to", next.Last())
	// Output:
	// turn 14 of 12 to 18 and 4 follow
	// 6 wait, the first 5 with tickets 19 to 23
}

// A crashed holder and a crashed waiter stay until a client removes them.
func ExampleState_Idle() {
	state := &queue.State{
		Serving: []queue.Holder{{Ticket: ticket.FromUint64(7), Remaining: -time.Second}},
		Waiting: []queue.Waiter{{Ticket: ticket.FromUint64(8)}},
	}
	fmt.Println("expired:", state.Serving[0].Expired(), state.Waiting[0].Expired())
	fmt.Println("idle:", state.Idle())
	// Output:
	// expired: true true
	// idle: false
}

// A block has tickets of several callers of one client.
func ExampleHolder_Last() {
	holder := queue.Holder{Ticket: ticket.FromUint64(5), Turns: 3}
	waiter := queue.Waiter{Ticket: ticket.FromUint64(8)}
	fmt.Println(holder.Last(), waiter.Last())
	// Output: 7 8
}
