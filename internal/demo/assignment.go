package demo

import "time"

// Assignment is what a worker is to do: the first line on its standard input.
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
