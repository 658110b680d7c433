package queue_test

import (
	"fmt"
	"slices"

	"github.com/queuelock/queuelock/queue"
)

// The names that a key or the TTL attribute of the table cannot have.
func ExampleReserved() {
	fmt.Println(slices.Contains(queue.Reserved(), queue.AttrHolders), slices.Contains(queue.Reserved(), "pk"))
	fmt.Println(queue.RecordNames()[0])
	// Output:
	// true false
	// ticketNumber
}
