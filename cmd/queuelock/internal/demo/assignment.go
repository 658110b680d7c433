package demo

import "time"

// Assignment is the work of a worker: the first line of its standard input.
type Assignment struct {
	Table, Entity string
	Owner         string
	First, Last   int // rounds
	Hold          time.Duration
	TTL           time.Duration
	WaiterTTL     time.Duration
	// Doomed is the round in whose turn the worker waits to be killed. Zero: none.
	Doomed int
}
