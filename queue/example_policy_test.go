package queue_test

import (
	"fmt"
	"time"

	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// Two wait, and the last of them waits behind one at most.
func ExampleState_Full() {
	state := &queue.State{Waiting: []queue.Waiter{
		{Ticket: ticket.FromUint64(8), Remaining: time.Second},
		{Ticket: ticket.FromUint64(9), Remaining: time.Second, MaxWaiters: 2},
	}}
	fmt.Println(state.Full())
	state.Waiting[0].Remaining = 0 // it has crashed
	fmt.Println(state.Full())
	// Output:
	// 2 true
	// 2 false
}

// Ticket 8 leaves with its next look, and ticket 9 stays.
func ExampleState_SupersededBy() {
	state := &queue.State{Waiting: []queue.Waiter{
		{Ticket: ticket.FromUint64(8), Remaining: time.Second, Group: "web"},
		{Ticket: ticket.FromUint64(9), Remaining: time.Second, Group: "api"},
		{Ticket: ticket.FromUint64(10), Remaining: time.Second, Group: "web"},
	}}
	fmt.Println(state.SupersededBy(ticket.FromUint64(8)))
	_, superseded := state.SupersededBy(ticket.FromUint64(9))
	fmt.Println(superseded)
	// Output:
	// 10 true
	// false
}
