// Package worker runs clients of a subject in a process of their own.
//
// The benchmark starts itself again, or node with npm/worker.js, and sends it requests:
// one JSON object a line. Answers come in any order, one JSON object a line. A worker
// ends with its standard input, and is killed after each measurement.
package worker

import "github.com/queuelock/queuelock/bench/internal/subject"

// The operations of a Request.
const (
	opOpen    = "open"    // make the client Client at Site
	opAcquire = "acquire" // acquire Key; the answer comes with the lock
	opTry     = "try"     // acquire Key if it is free: OK
	opRelease = "release" // release the lock of the request Lock
	opCycles  = "cycles"  // acquire and release as Work says
	opUsage   = "usage"   // collect garbage and report memory
)

type request struct {
	ID     int           `json:"id"`
	Op     string        `json:"op"`
	Client int           `json:"client"`
	Key    string        `json:"key,omitempty"`
	Lock   int           `json:"lock,omitempty"`
	Site   *subject.Site `json:"site,omitempty"`
	Work   *Work         `json:"work,omitempty"`
}

// Work is a number of loops that acquire and release many keys in turn: each key at
// least once, and until that many seconds are over.
type Work struct {
	Keys        int     `json:"keys"`
	Concurrency int     `json:"concurrency"`
	Seconds     float64 `json:"seconds"`
}

// Answer is what a worker reports. Its fields depend on the operation.
type Answer struct {
	ID    int    `json:"id"`
	OK    bool   `json:"ok,omitempty"`
	Error string `json:"error,omitempty"`

	Cycles     int     `json:"cycles,omitempty"`
	Seconds    float64 `json:"seconds,omitempty"`
	CPUSeconds float64 `json:"cpuSeconds,omitempty"`

	Memory     uint64 `json:"memory,omitempty"`     // of the heap and, in Go, of stacks
	Goroutines int    `json:"goroutines,omitempty"` // -1 if there are none
}
