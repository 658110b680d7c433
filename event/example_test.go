package event_test

import (
	"fmt"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/ticket"
)

// An Observer is tested without a lock, by events of the test's own.
func ExampleFunc() {
	observer := event.Func(func(e event.Event) {
		if granted, ok := e.(event.Granted); ok {
			origin := granted.From()
			fmt.Printf("%s has %s with ticket %s\n", origin.Owner, origin.Entity, origin.Ticket)
		}
	})
	observer.Observe(event.Granted{Origin: event.Origin{Entity: "order-7", Owner: "worker-1", Ticket: ticket.FromUint64(12)}})
	// Output:
	// worker-1 has order-7 with ticket 12
}
