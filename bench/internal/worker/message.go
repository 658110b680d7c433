// Package worker runs clients of a subject in a process of their own.
//
// The benchmark starts itself again, or node with npm/worker.js, and sends it requests:
// one JSON object a line. Answers come in any order, one JSON object a line. A worker
// ends with its standard input, and is killed after each measurement. The pipes add about
// a tenth of a millisecond to each time, the same for each subject.
package worker

import (
	"github.com/queuelock/queuelock/bench/internal/subject"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// The operations of a Request.
const (
	opOpen    = "open"    // make the client Client at Site
	opAcquire = "acquire" // acquire Key; the answer comes with the lock
	opTry     = "try"     // acquire Key if it is free: OK
	opRelease = "release" // release the lock of the request Lock
	opCycles  = "cycles"  // acquire and release as Work says
	opContend = "contend" // take turns as Crowd says
	opUsage   = "usage"   // collect garbage and report memory
)

type request struct {
	ID     int             `json:"id"`
	Op     string          `json:"op"`
	Client int             `json:"client"`
	Key    string          `json:"key,omitempty"`
	Lock   int             `json:"lock,omitempty"`
	Site   *subject.Site   `json:"site,omitempty"`
	Work   *scenario.Work  `json:"work,omitempty"`
	Crowd  *scenario.Crowd `json:"crowd,omitempty"`
}

// Answer is what a worker reports. Its fields depend on the operation.
type Answer struct {
	ID    int    `json:"id"`
	OK    bool   `json:"ok,omitempty"`
	Error string `json:"error,omitempty"`

	scenario.Done
	scenario.Usage
}
