// Package stepfunctions has the functions of a state machine of AWS Step Functions that works on one order at a time.
// README.md says what happens when, and statemachine.asl.json is the state machine.
//
// Each function is a handler of AWS Lambda. A program for the runtime provided.al2023 starts the one that it is
// deployed as, with github.com/aws/aws-lambda-go:
//
//	functions := stepfunctions.New(locks, ship)
//	switch os.Getenv("STEP") {
//	case "wait":
//		lambda.Start(functions.Wait)
//	case "work":
//		lambda.Start(functions.Work)
//	case "release":
//		lambda.Start(functions.Release)
//	}
package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// These belong together with statemachine.asl.json. The test compares them.
const (
	// timeout is that of each function, as it is configured in Lambda.
	timeout = time.Minute
	// slice is how long an invocation waits. What is left of the timeout is for a slow start and slow requests.
	slice = timeout - 20*time.Second
	// pause is between two slices. No function runs meanwhile.
	pause = 10 * time.Second
	// keep is how long the others wait for a place that is next: the pause, and a reserve for retries and cold starts.
	keep = pause + 50*time.Second
	// ttl is longer than the states with the lock take, because nothing renews the lease between two functions.
	ttl = 4 * time.Minute
)

// Input is the part of the states' input that the functions read. The first state gets an order alone.
type Input struct {
	Order  string            `json:"order"`
	Handle *queuelock.Handle `json:"handle"` // of the place, or of the lock once its Held is true
}

// Functions are the handlers.
type Functions struct {
	locks *queuelock.Client
	work  func(ctx context.Context, order string, token ticket.Number) (json.RawMessage, error)
}

// New makes the handlers, once for each process. The work sends the token with its writes, so that the resource can
// refuse those of an execution that has lost its lock.
func New(locks *queuelock.Client,
	work func(ctx context.Context, order string, token ticket.Number) (json.RawMessage, error)) *Functions {
	return &Functions{locks: locks, work: work}
}

// Wait waits for one slice, and returns the handle of the lock, or of the place for the next slice.
func (f *Functions) Wait(ctx context.Context, in Input) (*queuelock.Handle, error) {
	ctx, cancel := context.WithTimeout(ctx, slice)
	defer cancel()
	var lock *queuelock.Lock
	err := queuelock.ErrGone // there is no place yet
	if in.Handle != nil {
		lock, err = f.locks.Resume(ctx, *in.Handle, waitpolicy.Forever, options...)
	}
	if errors.Is(err, queuelock.ErrGone) { // or it was passed: begin at the end of the queue
		lock, err = f.locks.Acquire(ctx, queuelock.Key{Entity: in.Order}, waitpolicy.Forever, options...)
	}
	if ended, ok := errors.AsType[*queuelock.NotAcquiredError](err); ok && ended.Handle != nil {
		return ended.Handle, nil
	}
	if err != nil {
		return nil, err
	}
	handle := lock.Handle()
	return &handle, nil
}

// options keep the place between two slices, and the lock without heartbeats: Lambda freezes the process when a handler
// returns.
var options = []queuelock.AcquireOption{
	queuelock.KeepPlace(keep), queuelock.WithTTL(ttl), queuelock.NoHeartbeat(),
}

// Work works under the lock, which it leaves to the state machine.
func (f *Functions) Work(ctx context.Context, in Input) (json.RawMessage, error) {
	if in.Handle == nil || !in.Handle.Held {
		return nil, errors.New("the order is not locked")
	}
	return f.work(ctx, in.Order, in.Handle.Ticket)
}

// Release releases the lock, or gives up the place. Its error is ErrGone if the lock was lost.
func (f *Functions) Release(ctx context.Context, in Input) error {
	if in.Handle == nil {
		return nil // the first slice has failed
	}
	return f.locks.Leave(ctx, *in.Handle)
}
