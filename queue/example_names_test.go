package queue_test

import (
	"fmt"
	"slices"

	"github.com/queuelock/queuelock/internal/attr"
)

// The names that a key or the TTL attribute of the table cannot have.
func ExampleReserved() {
	fmt.Println(slices.Contains(attr.Reserved(), attr.Holders), slices.Contains(attr.Reserved(), "pk"))
	fmt.Println(attr.Record()[0])
	// Output:
	// true false
	// ticketNumber
}
